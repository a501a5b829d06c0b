"""Make rows of the tables: shape a frame, name a price, refuse a row, write Parquet."""
