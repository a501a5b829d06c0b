"""GCP's discounts that are rules, not prices: sustained use and flexible (spend-based) commitments.

The rules are data, with their sources: data/specs/gcp_discounts.csv. Both are given on what is bought on demand, part by part:
cores and memory, and for N1 the GPUs attached to it; never local SSD or licences. A100, H100 and L4 get none.
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory


@dataclass(frozen=True)
class _Rule:
    kind: str
    series: frozenset[str]
    components: frozenset[str]
    term_months: int
    start: Decimal
    pays: Decimal

    def fits(self, kind: str, series: str, component: str) -> bool:
        return (
            self.kind == kind
            and series in self.series
            and component.removesuffix("_2") in self.components
        )


@cache
def _rules() -> tuple[_Rule, ...]:
    rows = csv.DictReader(
        io.StringIO((sheet_directory() / "gcp_discounts.csv").read_text(encoding="utf-8"))
    )
    return tuple(
        _Rule(
            r["kind"],
            frozenset(r["series"].split(";")),
            frozenset(r["components"].split(";")),
            int(r["term_months"]),
            Decimal(r["from_share_of_month"]),
            Decimal(r["pays_share"]),
        )
        for r in rows
    )


def sustained_use(
    series: str, parts: Iterable[tuple[str, Decimal]], share_of_month: Decimal | int | str
) -> Decimal:
    """Average price of an hour used, when the machine runs for a share of the month (0 to 1).

    Args:
        series: the machine's series (instance_types.series).
        parts: (component, on-demand cost an hour) as in price_components.
        share_of_month: 0.5 for half the month. The discount is on the hours beyond each quarter, so it grows with use.

    Raises:
        HwpricesError: the share is not above 0 and at most 1.
    """
    used = Decimal(share_of_month)
    if not 0 < used <= 1:
        raise HwpricesError(
            f"{share_of_month} is not a share of a month", "Give a number above 0 and at most 1."
        )
    return sum(
        (cost * _sustained_share(series, component, used) for component, cost in parts), Decimal(0)
    )


def _sustained_share(series: str, component: str, used: Decimal) -> Decimal:
    """What part of the full price is paid on average over the hours used."""
    tiers = sorted(
        (r.start, r.pays) for r in _rules() if r.fits("sustained_use", series, component)
    )
    if not tiers:
        return Decimal(1)
    ends = [start for start, _ in tiers[1:]] + [Decimal(1)]
    paid = sum(
        (
            pays * max(min(used, end) - start, Decimal(0))
            for (start, pays), end in zip(tiers, ends, strict=True)
        ),
        Decimal(0),
    )
    return paid / used


def flexible_commitment(
    series: str, parts: Iterable[tuple[str, Decimal]], term_months: int
) -> Decimal | None:
    """Price of an hour under a flexible (spend-based) commitment of 12 or 36 months; None where the series takes none.

    Args:
        parts: (component, on-demand cost an hour) as in price_components; those it does not cover stay at full price.
    """
    lines = list(parts)
    rules = [
        r for r in _rules() if r.kind == "flexible_commitment" and r.term_months == term_months
    ]
    shares = {
        component: r.pays
        for component, _ in lines
        for r in rules
        if r.fits("flexible_commitment", series, component)
    }
    if not shares:
        return None
    return sum((cost * shares.get(component, Decimal(1)) for component, cost in lines), Decimal(0))
