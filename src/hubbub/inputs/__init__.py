"""People's values from what is at hand: lines, CSV, JSON lines, Parquet, and columns of Python libraries."""
