"""Price GCP's custom machines, and apply its discount for sustained use.

The rules and their sources are in data/specs/gcp_discounts.csv. The discount applies to the
on-demand prices of components: cores, memory and GPUs attached to N1. It never applies to licenses,
or to A100, H100 and L4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import packaged_rows
from hwprices.specs.rules import SUSTAINED, DiscountRule, parse_rules

LOCAL_SSD_GIB = 375
"""Size of a local SSD disk of custom machines:
https://cloud.google.com/compute/docs/disks/local-ssd"""


@dataclass(frozen=True)
class PartPrice:
    """One component: ``quantity × unit_price`` per hour.

    ``purchase_option`` is on_demand for components without commitments.
    """

    component: str
    quantity: Decimal
    unit: str
    unit_price: Decimal
    purchase_option: str
    sku_id: str

    @property
    def hourly(self) -> Decimal:
        """Cost of one hour."""
        return self.quantity * self.unit_price


@dataclass(frozen=True)
class Quote:
    """The hourly price of a machine, and the lines that add up to it."""

    hourly: Decimal
    currency: str
    lines: tuple[PartPrice, ...]


@dataclass(frozen=True)
class CustomMachine:
    """The parts of a custom machine.

    Attributes:
        series: n1, n2, n2d, n4 or e2.
        vcpus: at least one.
        memory_gib: above 0. Memory beyond the series' limit per vCPU is extended memory, which has
            a different price.
        gpus: GPUs by the Compute API's name, such as {"nvidia-tesla-t4": 2}; only for N1, at most
            eight.
        local_ssd_gib: 375 per disk.
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
        purchase_option: on_demand, spot or committed_use. Commitments of the series also cover
            custom machines; components without commitments stay on demand.
        term_months: 12 or 36 for committed_use, else 0.

    Raises:
        HwpricesError: the series has no custom machines, a figure is out of range, or a component
            has no price there.
    """
    included, extended = _memory(machine)
    is_committed = purchase_option == "committed_use"
    rates = _rates(component_prices, region, machine.series)
    # custom cores and memory have different prices on demand and spot, but the same commitments
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
    """Check the machine; return its memory up to the series' limit, and its extended memory."""
    by_series = {row["series"]: row for row in packaged_rows("gcp_custom")}
    series, vcpus, gpus, ssd = machine.series, machine.vcpus, machine.gpus, machine.local_ssd_gib
    if series not in by_series:
        raise HwpricesError(
            f"series {series!r} has no custom machines", f"There are of: {', '.join(by_series)}."
        )
    limits = by_series[series]
    max_gpus, gib_per_vcpu = int(limits["max_gpus"]), Decimal(limits["gib_per_vcpu"])
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
    if gpus and not max_gpus:
        raise HwpricesError(
            f"no GPU can be attached to {series}",
            "Attach it to n1, or choose a machine type that has one.",
        )
    wrong = [name for name, count in gpus.items() if not (isinstance(count, int) and count >= 1)]
    if wrong or sum(gpus.values()) > max_gpus:
        raise HwpricesError(
            f"gpus is {dict(gpus)!r}: {series} takes whole numbers from 1, in total at most"
            f" {max_gpus}",
            "Ask for fewer, or choose a machine type that has them.",
        )
    if not (isinstance(ssd, int) and ssd >= 0) or ssd % LOCAL_SSD_GIB:
        raise HwpricesError(
            f"local_ssd_gib is {ssd!r}: local SSD is sold in disks of {LOCAL_SSD_GIB} GiB",
            f"Ask for a multiple of {LOCAL_SSD_GIB}.",
        )
    included = min(memory, gib_per_vcpu * vcpus)
    if memory > included and limits["extended"] != "true":
        raise HwpricesError(
            f"{series} has at most {gib_per_vcpu.normalize():f} GiB a vCPU",
            "Ask for less memory, or take n1, n2, n2d or n4.",
        )
    return included, memory - included


def _rates(
    component_prices: pl.LazyFrame | pl.DataFrame, region: str, series: str
) -> dict[tuple[str, str, str, int], PartPrice]:
    """Return the price in USD of one unit of each component of the series and of any series.

    The key is series, component, purchase option and term. It is unique, because the option implies
    the commitment plan, and only the first tier (of disks and addresses) is read.
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
        (name, component, option, months): PartPrice(
            component, Decimal(1), unit, hourly, option, sku
        )
        for name, component, option, months, unit, hourly, sku in (
            rows.select(columns).collect().iter_rows()
        )
    }


PROVIDER = "gcp"
"""Provider of the rules; other providers have series of the same names."""


def read_discount_rules() -> list[DiscountRule]:
    """Read data/specs/gcp_discounts.csv."""
    share = pl.Decimal(10, 6)
    sheet = pl.DataFrame(packaged_rows("gcp_discounts")).cast(
        {"term_months": pl.Int32, "from_share_of_month": share, "pays_share": share}
    )
    return parse_rules(sheet)


def sustained_use(
    series: str,
    component_costs: Mapping[str, Decimal],
    share_of_month: Decimal | int | str,
    rules: Sequence[DiscountRule] | None = None,
) -> Decimal:
    """Return the average cost of an hour of use if a machine runs for a share of the month.

    Args:
        series: the machine's series (instance_types.series).
        component_costs: on-demand cost per hour by component, as in price_components.
        share_of_month: above 0 and at most 1; 0.5 for half the month. The discount applies to the
            hours beyond each quarter, so it grows with use.
        rules: the rules to apply; by default those of this installation.

    Raises:
        HwpricesError: the share is out of range.
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
    """Return the cost of a machine by the share of the month that it runs.

    Pairs of share and cost, from (0, 0) to the full month. The cost is per hour of the month; it is
    linear between two shares.

    The arguments are those of ``sustained_use``.
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
    """Return the average share of the full price over the hours of use."""
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
