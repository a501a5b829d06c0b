"""Compose the price of every machine from its parts.

``hourly = Σ quantity × rate``. Never a partial sum: a machine with a part that has no price has
none, and price_reason names the part. All sums are of Decimal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from hwprices.providers.oracle.inventory.instance_types import arch
from hwprices.providers.oracle.inventory.shapes import Machine
from hwprices.providers.oracle.members import DECIMALS
from hwprices.providers.oracle.prices.products import WINDOWS, Products, Rate

PREEMPTIBLE_SHARE = Decimal("0.5")
"""Always half of the on-demand price, of whatever shape:
https://docs.oracle.com/iaas/Content/Compute/Concepts/preemptible.htm and
https://blogs.oracle.com/cloud-infrastructure/announcing-ga-of-oracle-preemptible-instances-vm-shapes
"""


@dataclass(frozen=True)
class Line:
    """One part of a machine: how many units at which rate."""

    quantity: Decimal
    rate: Rate


@dataclass(frozen=True)
class MachinePrice:
    """One price of a machine; ``hourly`` is None where ``reason`` says why.

    ``lines`` are the parts of a composed price, and of the one that a derived price follows from.
    """

    machine: Machine
    os: str
    purchase_option: str
    basis: str
    hourly: Decimal | None
    reason: str | None
    lines: tuple[Line, ...]


def compose(machines: list[Machine], products: Products) -> Iterator[MachinePrice]:
    """Yield the prices of every machine: on demand, and preemptible and Windows where sold."""
    for machine in machines:
        on_demand = _on_demand(machine, products)
        yield on_demand
        if on_demand.hourly is None:
            continue
        if machine.preemptible:
            half = round(on_demand.hourly * PREEMPTIBLE_SHARE, DECIMALS)
            yield MachinePrice(machine, "linux", "spot", "derived", half, None, on_demand.lines)
        if windows := _windows(on_demand, products):
            yield windows


def _on_demand(machine: Machine, products: Products) -> MachinePrice:
    lines: list[Line] = []
    reasons: set[str] = set()
    for part_number, kind in machine.parts.items():
        line = _line(machine, products.rates.get(part_number), kind)
        if isinstance(line, Line):
            lines.append(line)
        elif part_number in products.ambiguous:
            reasons.add(f"{line}_sku_ambiguous")
        else:
            reasons.add(f"{line}_sku_missing")
    if not machine.parts:
        reasons.add("instance_sku_missing")
    if not reasons and any(line.rate.price == 0 for line in lines):
        reasons.add("listed_at_zero")
    if reasons:
        joined = ",".join(sorted(reasons))
        return MachinePrice(machine, "linux", "on_demand", "composed", None, joined, ())
    return MachinePrice(machine, "linux", "on_demand", "composed", _sum(lines), None, tuple(lines))


def _line(machine: Machine, rate: Rate | None, listed_kind: str) -> Line | str:
    """Return the line of a part, or the kind of component that has no price.

    The unit of the rate decides what is counted: a GPU's part is listed with the OCPUs of the host.
    """
    if rate is None:
        return "slice" if listed_kind == "core" and machine.gpus else listed_kind
    if rate.kind != listed_kind and (rate.kind, listed_kind) != ("slice", "core"):
        return listed_kind
    counted = {**machine.quantities, "slice": Decimal(machine.gpus)}
    quantity = counted.get(rate.kind)
    return Line(quantity, rate) if quantity else rate.kind


def _windows(linux: MachinePrice, products: Products) -> MachinePrice | None:
    """Add the license of Windows Server, sold by the OCPU, to a virtual machine of x86.

    Bare metal is left out: which of those shapes have images of Windows is in no list.
    """
    machine, rate = linux.machine, products.rates.get(WINDOWS)
    if rate is None or machine.bare_metal or machine.ocpus is None or arch(machine) != "x86_64":
        return None
    lines = (*linux.lines, Line(machine.ocpus, rate))
    return MachinePrice(machine, "windows", "on_demand", "composed", _sum(lines), None, lines)


def _sum(lines: tuple[Line, ...] | list[Line]) -> Decimal:
    return round(sum((line.quantity * line.rate.price for line in lines), Decimal(0)), DECIMALS)
