"""Reports in Parquet files: written, read, and added up on one machine, in memory that does not grow with them."""
