"""Read landed pages into rows of the tables. Pure: no network, no clock.

The product list, https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/, has the price of
one unit of everything Oracle sells. Four categories have the parts of machines, and also licenses
and hardware in customers' buildings with the same units. A part is identified by its number,
because its name changes.

A machine costs ``Σ quantity × rate``. Sums are complete: if a part has no price, the
machine has none, and price_reason names the part. All sums are Decimal.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hwprices.landing.bodies import DECIMALS, RefusedItemError, items, money, number, text
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part
from hwprices.providers.oracle import CURRENCY, PRODUCTS
from hwprices.providers.oracle.machines import (
    Machine,
    OracleSheets,
    instance_type_row,
    read_machines,
)
from hwprices.rows.vendor_rows import VendorRows
from hwprices.schemas.tables import ComponentPrices, InstanceTypes, PriceComponents, Prices, Regions

REGION = "commercial"
"""Represents all commercial regions: the product list names none, and no public list says where a
shape is offered. Government and sovereign regions have other prices, which it does not list."""

CATEGORIES = (
    "Compute - Bare Metal",
    "Compute - GPU",
    "Compute - GPU - Other",
    "Compute - Virtual Machine",
)
"""serviceCategory of the parts of machines."""

EXCLUDED = ("Compute - VMware", "Compute Cloud@Customer")
"""Categories of nodes with a commitment in their name, and of hardware in customers' buildings."""

OS_IMAGES = "Compute - OS Images"
COMPUTE = "Compute"  # Prefix of the categories of machines. There are 80 others, such as databases.
WINDOWS = "B88318"  # Part number of the license of Windows Server, for one OCPU

LICENSE_WORDS = "ai enterprise"
"""In the name of NVIDIA's software license, which has the category and the unit of its GPU."""

UNITS = {
    "ocpu per hour": "core",
    "gigabyte per hour": "ram",
    "gpu per hour": "slice",
    "nvme terabyte per hour": "local_ssd",
}
"""metricName in the singular → kind of component. The price of a GPU includes the cores, memory and
disks of its host: a machine with GPUs has no other part."""

COMPONENT_UNITS = {
    "core": "ocpu",
    "ram": "gib",
    "slice": "gpu",
    "local_ssd": "tb",
    "license": "ocpu",
}
"""Kind of component → unit."""

PAY_AS_YOU_GO = "PAY_AS_YOU_GO"

LARGEST_RATE = 10_000
"""More than one part costs in an hour. The most expensive, a GPU, costs 18 USD."""

LARGEST_RANGE = 10**18  # No range of a tiered price begins above this

PREEMPTIBLE_SHARE = Decimal("0.5")
"""Preemptible machines cost half of the on-demand price, whatever the shape:
https://docs.oracle.com/iaas/Content/Compute/Concepts/preemptible.htm and
https://blogs.oracle.com/cloud-infrastructure/announcing-ga-of-oracle-preemptible-instances-vm-shapes
"""


@dataclass(frozen=True)
class OracleRate:
    """The hourly price of one unit of a part; 0 if it is Always Free."""

    part_number: str
    name: str
    kind: str
    price: Decimal
    page: Page


@dataclass(frozen=True)
class OracleRates:
    """The rates by part number; ``ambiguous`` parts are listed at two prices and have no rate."""

    by_part: Mapping[str, OracleRate]
    ambiguous: frozenset[str]

    def gpu_name(self, part_number: str, sheets: OracleSheets) -> str | None:
        """Return the GPU of a part, from the sheet or else the name in the product list."""
        rate = self.by_part.get(part_number)
        return sheets.gpus.get(part_number) or (rate.name if rate else None)


@dataclass(frozen=True)
class Line:
    """One part of a machine: how many units at which rate."""

    quantity: Decimal
    rate: OracleRate


def normalise(pages: Pages, sheets: OracleSheets | None = None) -> Iterator[Part]:
    """Yield the region, the machines, their prices and the parts that these are composed of.

    ``sheets`` are facts about the machines; None loads those of the checkout or package. The table
    availability is absent: no public list says where a shape is offered.
    """
    if not pages.of(PRODUCTS):
        return
    sheets, rows = sheets or OracleSheets.load(), VendorRows("oracle", "partNumber", "name")
    rates = _read_rates(pages, rows)
    machines = read_machines(pages, sheets, rows)
    region = {"region": REGION, "display_name": "All commercial regions", "kind": "region"}
    rows.add(Regions, pages.of(PRODUCTS)[-1], region)
    for machine in machines:
        with rows.reading(machine.page, {"name": machine.name}, InstanceTypes):
            gpu = next((rates.gpu_name(part, sheets) for part in machine.parts), None)
            rows.add(InstanceTypes, machine.page, instance_type_row(machine, gpu, sheets))
            _add_prices(machine, rates, rows)
    _add_component_prices(rates, machines, sheets, rows)
    yield Part("regions", rows.table(Regions))
    yield Part("instance_types", rows.table(InstanceTypes), refused=rows.refused(InstanceTypes))
    yield Part("prices", rows.prices(), REGION, rows.refused(Prices), dict(rows.counts))
    yield Part("price_components", rows.table(PriceComponents), REGION)
    yield Part("component_prices", rows.table(ComponentPrices), REGION)


def _read_rates(pages: Pages, rows: VendorRows) -> OracleRates:
    """Read the rate of every part of a machine. If several pages list a part, the last counts."""
    rates: dict[str, OracleRate] = {}
    ambiguous: set[str] = set()
    for page in pages.of(PRODUCTS):
        with pages.parsing(page):
            for item in items(pages.read_json(page), "items"):
                with rows.reading(page, item, region=REGION):
                    if reason := _out_of_scope(item):
                        rows.counts[reason] += 1
                        continue
                    rate = _rate(item, page, rows)
                    earlier = rates.get(rate.part_number, rate)
                    rates[rate.part_number] = rate if rate.price or not earlier.price else earlier
                    if bool(rate.price) != bool(earlier.price):
                        problem = f"listed at 0 and at {rate.price or earlier.price}"
                        raise RefusedItemError("zero_price", problem)
                    if (earlier.price, earlier.kind) != (rate.price, rate.kind):
                        ambiguous.add(rate.part_number)
                        raise RefusedItemError("ambiguous_sku", f"{earlier.price} and {rate.price}")
    unambiguous = {number: rate for number, rate in rates.items() if number not in ambiguous}
    return OracleRates(unambiguous, frozenset(ambiguous))


def _out_of_scope(item: Any) -> str | None:
    """Explain why a product is not a part of a machine; None if it is one."""
    category = text(item, "serviceCategory")
    if not category.startswith(COMPUTE) and item.get("partNumber") != WINDOWS:
        return "out_of_scope:serviceCategory=not Compute"
    if category in EXCLUDED:
        return f"out_of_scope:serviceCategory={category}"
    name = text(item, "displayName")
    if LICENSE_WORDS in name.lower():
        return "out_of_scope:displayName=NVIDIA AI Enterprise"
    if category in CATEGORIES or text(item, "partNumber") == WINDOWS:
        return None
    if category == OS_IMAGES:
        raise RefusedItemError("unknown_platform", f"{name} is an unknown system", name)
    raise RefusedItemError("unknown_product", f"{category} is an unknown category", category)


def _rate(item: dict[str, Any], page: Page, rows: VendorRows) -> OracleRate:
    """Read the rate of one part."""
    metric = " ".join(text(item, "metricName").split())
    singular = " ".join(
        word.removesuffix("s") for word in metric.lower().replace("(s)", "").split()
    )
    is_windows = text(item, "partNumber") == WINDOWS
    kind = UNITS.get(singular)
    if kind is None or (is_windows and kind != "core"):
        raise RefusedItemError("unknown_unit", f"priced per {metric}", metric)
    currencies = {
        text(listed, "currencyCode"): listed for listed in items(item, "currencyCodeLocalizations")
    }
    if CURRENCY not in currencies:
        problem = f"a price in {CURRENCY} is missing"
        raise RefusedItemError("not_usd", problem, ", ".join(currencies) or None)
    by_model: dict[str, list[dict[str, Any]]] = {}
    for price in items(currencies[CURRENCY], "prices"):
        by_model.setdefault(text(price, "model"), []).append(price)
    unknown = [
        RefusedItemError("unknown_price_type", f"sold as {model}", model)
        for model in sorted(by_model.keys() - {PAY_AS_YOU_GO})
    ]
    if PAY_AS_YOU_GO not in by_model:
        raise unknown[0] if unknown else RefusedItemError("no_price", "a price is missing")
    for refusal in unknown:
        rows.refuse(page, item, refusal, region=REGION)
    return OracleRate(
        part_number=text(item, "partNumber"),
        name=" ".join(text(item, "displayName").split()),
        kind="license" if is_windows else kind,
        price=_price(by_model[PAY_AS_YOU_GO]),
        page=page,
    )


def _price(prices: list[dict[str, Any]]) -> Decimal:
    """Return the price of the last range.

    The first OCPU hours of A1 are free each month, and how many are left is unknown. Ranges with
    different prices above 0 are refused.
    """
    values = [money(price, "value", LARGEST_RATE) for price in sorted(prices, key=_range_start)]
    paid = {value for value in values if value}
    last = values[-1]
    if last is None:
        raise RefusedItemError("price_not_a_number", "value is null")
    if len(paid) > 1 or (paid and not last):
        raise RefusedItemError("tiered_price", f"{len(values)} ranges with different prices")
    return last


def _range_start(price: dict[str, Any]) -> Decimal:
    start = number(price, "rangeMin", LARGEST_RANGE) if "rangeMin" in price else None
    return start or Decimal(0)


def _add_prices(machine: Machine, rates: OracleRates, rows: VendorRows) -> None:
    """Add the prices of a machine: on demand, and preemptible and Windows where sold."""
    lines, reasons = _lines(machine, rates)
    if reasons:
        rows.add(Prices, machine.page, _row(machine, [], None) | {"price_reason": reasons})
        return
    _add(machine, lines, rows)
    if machine.preemptible:
        half = round(_sum(lines) * PREEMPTIBLE_SHARE, DECIMALS)
        derived = {"purchase_option": "spot", "basis": "derived", "parts": []}
        rows.add(Prices, lines[0].rate.page, _row(machine, lines, half) | derived)
    # Windows is sold by the OCPU. No list says which bare-metal shapes have Windows images.
    license_rate = rates.by_part.get(WINDOWS)
    is_virtual = not machine.bare_metal and machine.arch == "x86_64"
    if license_rate is not None and is_virtual and machine.ocpus is not None:
        _add(machine, [*lines, Line(machine.ocpus, license_rate)], rows, os="windows")


def _add(machine: Machine, lines: list[Line], rows: VendorRows, os: str = "linux") -> None:
    """Add a composed price, with the page of its first part."""
    rows.add(Prices, lines[0].rate.page, _row(machine, lines, _sum(lines)) | {"os": os})


def _row(machine: Machine, lines: list[Line], hourly: Decimal | None) -> dict[str, Any]:
    """Make the row of a price. Its observed_at is that of the oldest page it comes from."""
    pages = [machine.page, *(line.rate.page for line in lines)]
    return {
        "instance_type": machine.name,
        "region": REGION,
        "os": "linux",
        "purchase_option": "on_demand",
        "basis": "composed",
        "hourly": hourly,
        "currency": CURRENCY,
        "flags": ["availability_unknown"],
        "observed_at": min(page.retrieved_at for page in pages),
        "parts": [_part(line) for line in lines],
    }


def _part(line: Line) -> dict[str, Any]:
    rate = line.rate
    return {
        "component": rate.kind,
        "quantity": line.quantity,
        "unit": COMPONENT_UNITS[rate.kind],
        "unit_price": rate.price,
        "sku_id": rate.part_number,
        "observed_at": rate.page.retrieved_at,
        "raw_sha256": rate.page.sha256,
    }


def _sum(lines: list[Line]) -> Decimal:
    return round(sum((line.quantity * line.rate.price for line in lines), Decimal(0)), DECIMALS)


def _lines(machine: Machine, rates: OracleRates) -> tuple[list[Line], str]:
    """Return the parts of a machine with their rates, and why it has no price, if so."""
    lines: list[Line] = []
    reasons: set[str] = set()
    for part_number, kind in machine.parts.items():
        line = _line(machine, rates.by_part.get(part_number), kind)
        if isinstance(line, Line):
            lines.append(line)
        else:
            problem = "ambiguous" if part_number in rates.ambiguous else "missing"
            reasons.add(f"{line}_sku_{problem}")
    if not machine.parts:
        reasons.add("instance_sku_missing")
    if not reasons and any(line.rate.price == 0 for line in lines):
        reasons.add("listed_at_zero")
    return lines, ",".join(sorted(reasons))


def _line(machine: Machine, rate: OracleRate | None, listed_kind: str) -> Line | str:
    """Return the line of a part, or the kind of component that has no price.

    The unit of the rate determines the quantity: GPUs are listed with the OCPUs of their host.
    """
    if rate is None:
        return "slice" if listed_kind == "core" and machine.gpus else listed_kind
    if rate.kind != listed_kind and (rate.kind, listed_kind) != ("slice", "core"):
        return listed_kind
    counted = {**machine.quantities, "slice": Decimal(machine.gpus)}
    quantity = counted.get(rate.kind)
    return Line(quantity, rate) if quantity else rate.kind


def _add_component_prices(
    rates: OracleRates, machines: list[Machine], sheets: OracleSheets, rows: VendorRows
) -> None:
    """Add the rate of every part of a listed machine, and of every GPU.

    Prices of flexible shapes are linear, so these rates give the price of any size. Licenses are
    not parts of a machine, and a part at 0 has no price.
    """
    series = {
        part: machine.series.name
        for machine in reversed(machines)
        if machine.series is not None
        for part in machine.parts
    }
    for part_number, rate in sorted(rates.by_part.items()):
        is_part = part_number in series or rate.kind == "slice"
        if not rate.price or not is_part or rate.kind == "license":
            continue
        gpu = sheets.gpus.get(part_number, rate.name) if rate.kind == "slice" else None
        match = sheets.match_accelerator(gpu, "") if gpu else None
        row = {
            "region": REGION,
            "series": series.get(part_number, "any"),
            "component": _part_name(rate.kind, gpu),
            "purchase_option": "on_demand",
            "term_months": 0,
            "currency": CURRENCY,
            "unit": COMPONENT_UNITS[rate.kind],
            "hourly": rate.price,
            "price": rate.price,
            "per": "hour",
            "tier_from": 0,
            "accelerator_id": match.accelerator_id if match else None,
            "sku_id": part_number,
        }
        rows.add(ComponentPrices, rate.page, row)


def _part_name(kind: str, gpu: str | None) -> str:
    """Return the name of a component: ``ocpu``, ``ram``, ``slice:a100-80gb``."""
    if gpu is not None:
        return "slice:" + re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")
    return {"core": "ocpu", "local_ssd": "local_nvme"}.get(kind, kind)
