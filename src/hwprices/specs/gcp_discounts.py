"""Discounts on Google's on-demand prices: the rules of data/specs/gcp_discounts.csv.

Prices of flexible commitments are derived by them (providers/gcp), and readers of the dataset apply
them to custom machines and to a share of the month (read.gcp). Each reads the sheet in its own way:
the pipeline with all checks, the reader without the libraries that check.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from hwprices.errors import HwpricesError

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
        """Check whether the rule is about this discount on this component of this series."""
        return self.kind == kind and series in self.series and component in self.components


def parse_rules(sheet: pl.DataFrame) -> list[DiscountRule]:
    """Read the rows of the sheet; series and components are lists with semicolons.

    Raises:
        HwpricesError: two rows are about the same discount on the same component.
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

    A component that is not in it pays the full price. A series without any component for a term has
    no such commitment.
    """
    return {
        (series, component, rule.term_months): rule.pays_share
        for rule in rules
        if rule.kind == FLEXIBLE
        for series in sorted(rule.series)
        for component in sorted(rule.components)
    }
