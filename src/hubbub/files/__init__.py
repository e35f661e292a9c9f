"""Reports in Parquet files: writing, reading, and adding them up on one machine, in bounded memory."""
