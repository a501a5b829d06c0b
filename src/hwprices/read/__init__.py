"""Answers from a release, for people and programs: a device, a recommendation, owning against renting, a custom machine, a summary.

Reader-light: polars and rich at most; nothing of the pipeline.
"""
