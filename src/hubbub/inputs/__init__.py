"""Readers of people's values: lines, CSV, JSON lines, Parquet, and columns of Python libraries."""
