"""Rules from sheets that pipeline and reader share: CPUs of machine types, Google's discounts.

The pipeline derives prices of flexible commitments from the discounts (providers/gcp). The reader
applies them to custom machines and to parts of a month (read.gcp). Each reads the sheet itself: the
pipeline checks it, the reader avoids importing the libraries for that.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from hwprices.errors import HwpricesError

KEY = ["provider", "instance_type"]


def machine_cpus(
    types: pl.DataFrame, cpus: pl.DataFrame, families: pl.DataFrame, column: str
) -> pl.DataFrame:
    """Return provider, instance_type and ``column`` of the CPU of each machine type.

    ``types`` has provider, instance_type, family, series and cpu_models; ``cpus`` and ``families``
    are the sheets cpus and cpu_families. ``column`` is a column of cpus: cpu_id, or
    microarchitecture, in which several models may agree.

    If the family has only one model, it is used first, because a vendor may use one name for
    several CPUs (Google Axion). Then come the models that the vendor names for the type, then those
    that the family may have. A type with several possible values gets null.
    """
    guaranteed = _family_models(types, cpus, families.filter("only"), column)
    attempts = {
        "guaranteed": _unanimous(guaranteed, column),
        "named": _unanimous(_named_models(types, cpus, column), column),
        "possible": _unanimous(_family_models(types, cpus, families, column), column),
    }
    joined = types.select(KEY)
    for name, values in attempts.items():
        joined = joined.join(values.rename({column: name}), on=KEY, how="left")
    return joined.select(*KEY, pl.coalesce(*attempts).alias(column))


def _named_models(types: pl.DataFrame, cpus: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return KEY and ``column``, one row per CPU model that the vendor names.

    The value is null for a model that no pattern of the sheet matches, so it counts as different.
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


def _family_models(
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


FLEXIBLE = "flexible_commitment"  # Kind of the rules about flexible (spend-based) commitments
SUSTAINED = "sustained_use"  # Kind of the rules about sustained use


@dataclass(frozen=True)
class DiscountRule:
    """One rule: hours from a share of the month on pay a share of the on-demand price.

    ``kind`` is sustained_use or flexible_commitment. ``term_months`` is 0 for sustained use.
    """

    kind: str
    series: frozenset[str]
    components: frozenset[str]
    term_months: int
    from_share_of_month: Decimal
    pays_share: Decimal

    def applies_to(self, kind: str, series: str, component: str) -> bool:
        """Check whether the rule covers this kind of discount on a component of a series."""
        return self.kind == kind and series in self.series and component in self.components


def parse_rules(sheet: pl.DataFrame) -> list[DiscountRule]:
    """Read the rows of the sheet; series and components are separated by semicolons.

    Raises:
        HwpricesError: two rows have the same discount on the same component.
    """
    rules = [
        DiscountRule(
            row["kind"],
            frozenset(row["series"].split(";")),
            frozenset(row["components"].split(";")),
            row["term_months"],
            row["from_share_of_month"],
            row["pays_share"],
        )
        for row in sheet.iter_rows(named=True)
    ]
    subjects = Counter(
        (rule.kind, series, component, rule.term_months, rule.from_share_of_month)
        for rule in rules
        for series in rule.series
        for component in rule.components
    )
    if twice := sorted(subject for subject, count in subjects.items() if count > 1):
        kind, series, component, months, start = twice[0]
        raise HwpricesError(
            f"gcp_discounts.csv has two rows of {kind} for {component} of {series},"
            f" {months} months, from {start} of the month on",
            "Leave the one that Google's page has.",
        )
    return rules


def flexible_shares(rules: Iterable[DiscountRule]) -> dict[tuple[str, str, int], Decimal]:
    """Map series, component and months to the share that is paid under a flexible commitment.

    A component that is absent pays the full price. A series that is absent for a term has no such
    commitment.
    """
    return {
        (series, component, rule.term_months): rule.pays_share
        for rule in rules
        if rule.kind == FLEXIBLE
        for series in sorted(rule.series)
        for component in sorted(rule.components)
    }
