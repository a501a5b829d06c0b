"""Read a release: open it, and answer questions from its tables.

Imports nothing of the pipeline; needs polars, rich, duckdb and obstore.
"""
