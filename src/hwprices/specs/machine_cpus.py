"""Find the CPU of machine types from the sheets cpus and cpu_families."""

import re

import polars as pl

KEY = ["provider", "instance_type"]


def machine_cpus(
    types: pl.DataFrame, cpus: pl.DataFrame, families: pl.DataFrame, column: str
) -> pl.DataFrame:
    """Return provider, instance_type and ``column`` of the CPU of each machine type.

    ``types`` has provider, instance_type, family, series and cpu_models; ``cpus`` and ``families``
    are the sheets cpus and cpu_families. ``column`` is a column of cpus: cpu_id, or
    microarchitecture, in which several models may agree.

    The model that the family promises goes first, because a vendor may use one name for several
    CPUs (Google Axion). Then come the models that the vendor names for the type, then those that
    its family may have. A type that may come with one of several values gets null.
    """
    promised = _of_families(types, cpus, families.filter("only"), column)
    attempts = {
        "promised": _unanimous(promised, column),
        "named": _unanimous(_of_models(types, cpus, column), column),
        "possible": _unanimous(_of_families(types, cpus, families, column), column),
    }
    joined = types.select(KEY)
    for name, of_type in attempts.items():
        joined = joined.join(of_type.rename({column: name}), on=KEY, how="left")
    return joined.select(*KEY, pl.coalesce(*attempts).alias(column))


def _of_models(types: pl.DataFrame, cpus: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return KEY and ``column``, one row per CPU model that the vendor names.

    A model that no pattern of the sheet matches has null, so that it counts as different.
    """
    models = types.select(*KEY, "cpu_models").explode("cpu_models", empty_as_null=True)
    models = models.drop_nulls("cpu_models")
    patterns = [
        (re.compile(pattern, re.IGNORECASE), value)
        for pattern, value in cpus.select("model_pattern", column).drop_nulls().iter_rows()
    ]
    by_model = {
        model: next((value for pattern, value in patterns if pattern.fullmatch(model)), None)
        for model in models["cpu_models"].unique().to_list()
    }
    values = pl.col("cpu_models").replace_strict(by_model, return_dtype=pl.String, default=None)
    return models.select(*KEY, values.alias(column))


def _of_families(
    types: pl.DataFrame, cpus: pl.DataFrame, families: pl.DataFrame, column: str
) -> pl.DataFrame:
    """Return KEY and ``column``, one row per CPU of the type's series or family."""
    values = cpus.select("cpu_id", pl.col(column).alias("value"))
    by_family = families.join(values, on="cpu_id").select(
        "provider", "family", pl.col("value").alias(column)
    )
    # the sheet's family is what some vendors call the series
    names = [types.select(*KEY, family=pl.col(name)) for name in ("series", "family")]
    named = pl.concat(names).drop_nulls()
    return named.join(by_family, on=["provider", "family"]).select(*KEY, column)


def _unanimous(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return KEY and ``column`` where all rows of a key agree on one value, else null."""
    value = pl.col(column)
    return frame.group_by(KEY).agg(pl.when(value.n_unique() == 1).then(value.first()))
