"""The Prefect flows. Nothing else in the project imports Prefect.

Prefect reads its settings when it is imported, so this package sets their defaults first.
"""

from hwprices.flows import environment

environment.set_defaults()
