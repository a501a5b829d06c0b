"""Pandera models, one class a table: the only declaration of the data.

Columns, dtypes, units, descriptions, checks and keys are read from here by validation, by the
Parquet files and by the data dictionary. ``tables.TABLES`` maps a table's name to its model.

This module imports nothing: ``version`` and ``vocabulary`` can be used without pandera.
"""
