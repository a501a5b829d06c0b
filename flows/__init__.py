"""The Prefect flows. Nothing else in the project imports Prefect.

Prefect and polars read their settings when they are imported, so this package sets their defaults
first.
"""

from hwprices.flows import environment

environment.set_defaults()
