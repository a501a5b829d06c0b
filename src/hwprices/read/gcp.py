"""Price GCP's custom machines, and apply its discounts: sustained use, flexible commitments.

The rules are data with their sources: data/specs/gcp_discounts.csv. Both discounts are given on
what is bought on demand, component by component: on cores and memory, sustained use also on the
GPUs attached to N1, and flexible commitments also on the local SSD of some series; never on
licenses. A100, H100 and L4 get none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory
from hwprices.specs.rules import SUSTAINED, DiscountRule, flexible_shares, parse_rules

Share = pl.Decimal(10, 6)  # A share or a size in a sheet, exact


def read_rule_sheet(name: str, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Read columns of data/specs/<name>.csv with the given dtypes.

    Raises:
        HwpricesError: the sheet is missing, or a cell does not fit its dtype.
    """
    file = sheet_directory() / f"{name}.csv"
    if not file.is_file():
        raise HwpricesError(f"the sheet {name}.csv is missing", "Reinstall hwprices.")
    try:
        return pl.read_csv(file, columns=list(columns), schema_overrides=dict(columns))
    except pl.exceptions.PolarsError as error:
        raise HwpricesError(
            f"{name}.csv is not a readable sheet: {error}", "Compare it with the last commit."
        ) from error


LOCAL_SSD_GIB = 375
"""One disk of local SSD that goes with custom machines:
https://cloud.google.com/compute/docs/disks/local-ssd"""


@dataclass(frozen=True)
class PartPrice:
    """One component: ``quantity × unit_price`` an hour.

    ``purchase_option`` is on_demand for what cannot be committed.
    """

    component: str
    quantity: Decimal
    unit: str
    unit_price: Decimal
    purchase_option: str
    sku_id: str

    @property
    def hourly(self) -> Decimal:
        """Cost of the line for one hour."""
        return self.quantity * self.unit_price


@dataclass(frozen=True)
class Quote:
    """What a machine costs an hour, and the lines that add up to it."""

    hourly: Decimal
    currency: str
    lines: tuple[PartPrice, ...]


@dataclass(frozen=True)
class CustomMachine:
    """The parts of a custom machine.

    Attributes:
        series: n1, n2, n2d, n4 or e2: those that can be custom.
        vcpus: at least one.
        memory_gib: above 0; what exceeds the series' limit for each vCPU is extended memory, at its
            own price.
        gpus: GPUs by the Compute API's name, such as {"nvidia-tesla-t4": 2}; only N1 takes any, and
            at most eight.
        local_ssd_gib: 375 for each disk.
    """

    series: str
    vcpus: int
    memory_gib: Decimal | int | str
    gpus: Mapping[str, int] = field(default_factory=dict)
    local_ssd_gib: int = 0


def quote_custom_machine(
    component_prices: pl.LazyFrame | pl.DataFrame,
    machine: CustomMachine,
    *,
    region: str,
    purchase_option: str = "on_demand",
    term_months: int = 0,
) -> Quote:
    """Price a custom machine of Google Cloud.

    Args:
        component_prices: the table component_prices of a release.
        machine: its parts.
        region: the region, such as us-central1.
        purchase_option: on_demand, spot or committed_use. A commitment is the series' own, which
            covers custom machines too; what cannot be committed stays on demand.
        term_months: 12 or 36 for committed_use, else 0.

    Raises:
        HwpricesError: the series cannot be custom, a figure is outside what is sold, or a component
            has no price there; names it.
    """
    included, extended = _memory(machine)
    is_committed = purchase_option == "committed_use"
    rates = _rates(component_prices, region, machine.series)
    # on demand and spot, custom cores and memory have a price of their own; a commitment is to
    # cores and memory of the series, custom or not
    parts = [
        (machine.series, "core_custom", "core", Decimal(machine.vcpus)),
        (machine.series, "ram_custom", "ram", included),
        (machine.series, "ram_extended", "ram_extended", extended),
    ]
    for name, count in machine.gpus.items():
        # a virtual workstation (-vws) has the same GPU with another license
        gpu = f"gpu:{name.removesuffix('-vws')}"
        parts.append(("any", gpu, gpu, Decimal(count)))
    parts.append(("any", "local_ssd", "local_ssd", Decimal(machine.local_ssd_gib)))
    lines = []
    for series, component, committed, quantity in parts:
        if not quantity:
            continue
        first = committed if is_committed else component
        rate = rates.get((series, first, purchase_option, term_months))
        if rate is None and is_committed:
            rate = rates.get((series, component, "on_demand", 0))
        if rate is None:
            raise HwpricesError(
                f"{component} of {series} has no {purchase_option} price in {region}",
                "Choose another region or purchase option.",
            )
        lines.append(replace(rate, quantity=quantity))
    return Quote(sum((line.hourly for line in lines), Decimal(0)), "USD", tuple(lines))


def _memory(machine: CustomMachine) -> tuple[Decimal, Decimal]:
    """Check the machine; return the memory that goes with its vCPUs, and the extended memory."""
    columns = {
        "series": pl.String,
        "gib_per_vcpu": Share,
        "extended": pl.Boolean,
        "max_gpus": pl.Int32,
    }
    sheet = read_rule_sheet("gcp_custom", columns)
    by_series = {row["series"]: row for row in sheet.iter_rows(named=True)}
    series, vcpus, gpus, ssd = machine.series, machine.vcpus, machine.gpus, machine.local_ssd_gib
    if series not in by_series:
        raise HwpricesError(
            f"series {series!r} has no custom machines", f"There are of: {', '.join(by_series)}."
        )
    limits = by_series[series]
    try:
        memory = Decimal(machine.memory_gib)
    except (InvalidOperation, TypeError, ValueError):
        memory = Decimal("NaN")
    if not (memory.is_finite() and memory > 0):
        raise HwpricesError(
            f"memory_gib is {machine.memory_gib!r}: it is a number above 0", "Such as 30 or '6.5'."
        )
    if not (isinstance(vcpus, int) and vcpus >= 1):
        raise HwpricesError(f"vcpus is {vcpus!r}: it is a whole number from 1", "Such as 4.")
    if gpus and not limits["max_gpus"]:
        raise HwpricesError(
            f"no GPU can be attached to {series}",
            "Attach it to n1, or choose a machine type that has one.",
        )
    wrong = [name for name, count in gpus.items() if not (isinstance(count, int) and count >= 1)]
    if wrong or sum(gpus.values()) > limits["max_gpus"]:
        raise HwpricesError(
            f"gpus is {dict(gpus)!r}: {series} takes whole numbers from 1, in total at most"
            f" {limits['max_gpus']}",
            "Ask for fewer, or choose a machine type that has them.",
        )
    if not (isinstance(ssd, int) and ssd >= 0) or ssd % LOCAL_SSD_GIB:
        raise HwpricesError(
            f"local_ssd_gib is {ssd!r}: local SSD is sold in disks of {LOCAL_SSD_GIB} GiB",
            f"Ask for a multiple of {LOCAL_SSD_GIB}.",
        )
    included = min(memory, limits["gib_per_vcpu"] * vcpus)
    if memory > included and not limits["extended"]:
        raise HwpricesError(
            f"{series} has at most {limits['gib_per_vcpu'].normalize():f} GiB a vCPU",
            "Ask for less memory, or take n1, n2, n2d or n4.",
        )
    return included, memory - included


def _rates(
    component_prices: pl.LazyFrame | pl.DataFrame, region: str, series: str
) -> dict[tuple[str, str, str, int], PartPrice]:
    """Return the price in USD of one unit of each component, of the series and of any series.

    The key is series, component, purchase option and term. It is unique: the option decides the
    commitment plan, and of tiers, which only disks and addresses have, the first is read.
    """
    rows = component_prices.lazy().filter(
        pl.col("provider") == "gcp",
        pl.col("region") == region,
        pl.col("series").is_in([series, "any"]),
        pl.col("currency") == "USD",
        pl.col("tier_from") == 0,
    )
    columns = ["series", "component", "purchase_option", "term_months", "unit", "hourly", "sku_id"]
    return {
        (of_series, component, option, months): PartPrice(
            component, Decimal(1), unit, hourly, option, sku
        )
        for of_series, component, option, months, unit, hourly, sku in (
            rows.select(columns).collect().iter_rows()
        )
    }


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
    series: str, component_costs: Mapping[str, Decimal], rules: Sequence[DiscountRule] | None = None
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
