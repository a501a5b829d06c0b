"""Apply GCP's discounts that are rules, not prices: sustained use and flexible commitments.

The rules are data with their sources: data/specs/gcp_discounts.csv. Both discounts are given on
what is bought on demand, component by component: on cores and memory, sustained use also on the
GPUs attached to N1, and flexible commitments also on the local SSD of some series; never on
licenses. A100, H100 and L4 get none.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.gcp.rule_sheets import Share, read_rule_sheet
from hwprices.specs.gcp_discounts import SUSTAINED, DiscountRule, flexible_shares, parse_rules

PROVIDER = "gcp"
"""Whose machines the rules are for: other providers use some of the names of series too."""


def read_discount_rules() -> list[DiscountRule]:
    """Read data/specs/gcp_discounts.csv.

    Raises:
        HwpricesError: the sheet is missing, or a cell does not fit.
    """
    columns = {
        "kind": pl.String,
        "series": pl.String,
        "components": pl.String,
        "term_months": pl.Int32,
        "from_share_of_month": Share,
        "pays_share": Share,
    }
    return parse_rules(read_rule_sheet("gcp_discounts", columns))


def sustained_use(
    series: str,
    component_costs: Mapping[str, Decimal],
    share_of_month: Decimal | int | str,
    rules: Sequence[DiscountRule] | None = None,
) -> Decimal:
    """Return the average cost of an hour used, when a machine runs for a share of the month.

    Args:
        series: the machine's series (instance_types.series).
        component_costs: on-demand cost of an hour by component, as in price_components.
        share_of_month: above 0 and at most 1; 0.5 for half the month. The discount is on the hours
            beyond each quarter, so it grows with use.
        rules: the rules to apply; None reads those of this installation.

    Raises:
        HwpricesError: the share is not above 0 and at most 1.
    """
    used_share = Decimal(share_of_month)
    if not 0 < used_share <= 1:
        raise HwpricesError(
            f"{share_of_month} is not a share of a month", "Give a number above 0 and at most 1."
        )
    rules = read_discount_rules() if rules is None else rules
    costs = (
        cost * _sustained_share(rules, series, component, used_share)
        for component, cost in component_costs.items()
    )
    return sum(costs, Decimal(0))


def sustained_use_costs(
    series: str,
    component_costs: Mapping[str, Decimal],
    rules: Sequence[DiscountRule] | None = None,
) -> list[tuple[Decimal, Decimal]]:
    """Return what a machine costs by the share of the month that it runs.

    Pairs of share and cost, from (0, 0) to the whole month. The cost is that of the hours used,
    spread over all hours of the month; between two of the shares it grows evenly.

    Args:
        series: as in ``sustained_use``.
        component_costs: as in ``sustained_use``.
        rules: as in ``sustained_use``.
    """
    rules = read_discount_rules() if rules is None else rules
    steps = {
        rule.from_share_of_month
        for rule in rules
        for component in component_costs
        if rule.applies_to(SUSTAINED, series, component)
    }
    shares = sorted({*steps, Decimal(1)} - {Decimal(0)})
    costs = [
        (share, share * sustained_use(series, component_costs, share, rules)) for share in shares
    ]
    return [(Decimal(0), Decimal(0)), *costs]


def _sustained_share(
    rules: Sequence[DiscountRule], series: str, component: str, used_share: Decimal
) -> Decimal:
    """Return the share of the full price that is paid on average over the hours used."""
    tiers = sorted(
        (rule for rule in rules if rule.applies_to(SUSTAINED, series, component)),
        key=lambda rule: rule.from_share_of_month,
    )
    if not tiers:
        return Decimal(1)
    ends = [rule.from_share_of_month for rule in tiers[1:]] + [Decimal(1)]
    paid = Decimal(0)
    for rule, end in zip(tiers, ends, strict=True):
        paid += rule.pays_share * max(min(used_share, end) - rule.from_share_of_month, Decimal(0))
    return paid / used_share


def flexible_commitment(
    series: str,
    component_costs: Mapping[str, Decimal],
    term_months: int,
    rules: Sequence[DiscountRule] | None = None,
) -> Decimal | None:
    """Return the cost of an hour under a flexible (spend-based) commitment, None if not offered.

    Args:
        series: the machine's series (instance_types.series).
        component_costs: on-demand cost of an hour by component, as in price_components; components
            that the commitment does not cover stay at full price.
        term_months: 12 or 36.
        rules: the rules to apply; None reads those of this installation.
    """
    rules = read_discount_rules() if rules is None else rules
    paid = flexible_shares(rules)
    covered = {name for name in component_costs if (series, name, term_months) in paid}
    if not covered:
        return None
    costs = (
        cost * paid[series, name, term_months] if name in covered else cost
        for name, cost in component_costs.items()
    )
    return sum(costs, Decimal(0))
