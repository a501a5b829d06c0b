"""The CPU of a machine type, by its family's promise and by the names that vendors use."""

from typing import Any

import polars as pl
import pytest

from hwprices.specs.rules import machine_cpus
from hwprices.specs.sheets import load

SCHEMA = {
    "provider": pl.String,
    "instance_type": pl.String,
    "family": pl.String,
    "series": pl.String,
    "cpu_models": pl.List(pl.String),
}

TYPES: list[tuple[Any, ...]] = [
    ("aws", "m8g.large", "m8g", "m8g", None),
    ("aws", "m7i.large", "m7i", "m7i", None),
    ("gcp", "c4a-standard-4", "c4a-standard", "c4a", ["Google Axion"]),
    ("gcp", "n4a-standard-4", "n4a-standard", "n4a", ["Google Axion N4A"]),
    ("gcp", "n4a-highcpu-2", "n4a-highcpu", "n4a", ["Google Axion"]),
    ("gcp", "c3-highcpu-4", "c3-highcpu", "c3", ["Intel Sapphire Rapids"]),
    ("gcp", "n1-standard-1", "n1-standard", "n1", ["Intel Skylake", "Intel Haswell"]),
    ("gcp", "x9-standard-1", "x9-standard", "x9", ["Some Other CPU"]),
]

CPUS = {
    "m8g.large": "aws-graviton4",
    "m7i.large": "intel-xeon-platinum-8488c",
    "c4a-standard-4": "google-axion",
    "n4a-standard-4": "google-axion-n4a",
    "n4a-highcpu-2": "google-axion-n4a",  # the family's promise goes before the vendor's word
    "c3-highcpu-4": "intel-xeon-platinum-8481c",
    "n1-standard-1": None,
    "x9-standard-1": None,
}

MICROARCHITECTURES = {
    "m8g.large": "Neoverse V2",
    "c4a-standard-4": "Neoverse V2",
    "n4a-standard-4": "Neoverse N3",
    "n4a-highcpu-2": "Neoverse N3",
}


@pytest.fixture(scope="module")
def types() -> pl.DataFrame:
    """Machine types as instance_types has them."""
    return pl.DataFrame(TYPES, schema=SCHEMA, orient="row")


def test_s12_each_type_has_the_cpu_of_its_own_maker(types, sheets) -> None:
    """Known wrong number S12: Graviton4 and Axion have one microarchitecture and two makers."""
    found = machine_cpus(types, sheets["cpus"], sheets["cpu_families"], "cpu_id")
    assert dict(found.select("instance_type", "cpu_id").iter_rows()) == CPUS


def test_the_microarchitecture_of_n4a_is_neoverse_n3(types, sheets) -> None:
    found = machine_cpus(types, sheets["cpus"], sheets["cpu_families"], "microarchitecture")
    names = dict(found.select("instance_type", "microarchitecture").iter_rows())
    assert {name: names[name] for name in MICROARCHITECTURES} == MICROARCHITECTURES


def test_every_family_that_gcp_series_names_agrees_with_its_promise(sheets) -> None:
    """The CPU names of gcp_series lead to the microarchitecture of cpu_families, family by family.

    A name of two CPUs, such as Google Axion for C4A and N4A, led to the older one.
    """
    series = load("gcp_series").with_columns(
        provider=pl.lit("gcp"), instance_type=pl.col("series"), family=pl.col("series")
    )
    no_families = sheets["cpu_families"].clear()
    named = machine_cpus(series, sheets["cpus"], no_families, "microarchitecture")
    promised = machine_cpus(
        series, sheets["cpus"], sheets["cpu_families"].filter("only"), "microarchitecture"
    )
    both = named.join(promised, on="instance_type", suffix="_promised").drop_nulls()
    different = both.filter(pl.col("microarchitecture") != pl.col("microarchitecture_promised"))
    assert both.height > 10
    assert different["instance_type"].to_list() == []
