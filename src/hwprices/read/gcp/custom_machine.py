"""The price of a GCP machine that is in no list: custom cores and memory, GPUs attached to N1, local SSD.

Made from the published component_prices; needs nothing but polars.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.specs import sheet_directory


@dataclass(frozen=True)
class Line:
    """One part: quantity × unit_price an hour; ``purchase_option`` is on_demand for what cannot be committed."""

    component: str
    quantity: Decimal
    unit: str
    unit_price: Decimal
    purchase_option: str
    sku_id: str

    @property
    def hourly(self) -> Decimal:
        return self.quantity * self.unit_price


@dataclass(frozen=True)
class Quote:
    """What the machine costs an hour, and the lines it is the sum of."""

    hourly: Decimal
    currency: str
    lines: tuple[Line, ...]


def quote(
    components: pl.LazyFrame | pl.DataFrame,
    *,
    region: str,
    series: str,
    vcpus: int,
    memory_gib: Decimal | int | str,
    gpus: Mapping[str, int] | None = None,
    local_ssd_gib: int = 0,
    purchase_option: str = "on_demand",
    term_months: int = 0,
) -> Quote:
    """Price a custom machine.

    Args:
        components: the component_prices table of a release.
        series: n1, n2, n2d, n4 or e2: those that can be custom.
        memory_gib: memory; what is above the series' limit a vCPU is extended memory, at its own price.
        gpus: GPUs by the Compute API's name, {"nvidia-tesla-t4": 2}; only N1 takes any.
        local_ssd_gib: local SSD in GiB (375 a disk).
        purchase_option: on_demand, spot or committed_use (with term_months 12 or 36: at the series' own commitment, which covers
            custom machines too; what cannot be committed stays on demand).

    Raises:
        HwpricesError: the series cannot be custom, or a part has no price there; names the part.
    """
    rules = _rules(series)
    memory = Decimal(memory_gib)
    if gpus and not int(rules["max_gpus"]):
        raise HwpricesError(
            f"no GPU can be attached to {series}",
            "Attach it to n1, or choose a machine type that has one.",
        )
    included = min(memory, Decimal(rules["gib_per_vcpu"]) * vcpus)
    if memory > included and rules["extended"] != "true":
        raise HwpricesError(
            f"{series} has at most {rules['gib_per_vcpu']} GiB a vCPU",
            "Ask for less memory, or take n1, n2, n2d or n4.",
        )
    wanted = [
        (series, "core", "core_custom", Decimal(vcpus)),
        (series, "ram", "ram_custom", included),
        (series, "ram_extended", "ram_extended", memory - included),
        *(
            (
                "any",
                f"gpu:{name.removesuffix('-vws')}",
                f"gpu:{name.removesuffix('-vws')}",
                Decimal(count),
            )
            for name, count in (gpus or {}).items()
        ),
        ("any", "local_ssd", "local_ssd", Decimal(local_ssd_gib)),
    ]
    rates = _rates(components, region, {series, "any"})
    lines = tuple(
        _line(rates, *part, purchase_option, term_months, region) for part in wanted if part[3]
    )
    return Quote(sum((line.hourly for line in lines), Decimal(0)), "USD", lines)


def _rules(series: str) -> dict[str, str]:
    rows = {
        r["series"]: r
        for r in csv.DictReader(
            io.StringIO((sheet_directory() / "gcp_custom.csv").read_text(encoding="utf-8"))
        )
    }
    if series not in rows:
        raise HwpricesError(
            f"there are no custom machines of series {series!r}",
            f"There are of: {', '.join(rows)}.",
        )
    return rows[series]


Rates = dict[tuple[str, str, str, int], tuple[Decimal, str, str]]


def _rates(components: pl.LazyFrame | pl.DataFrame, region: str, series: set[str]) -> Rates:
    here = (
        (pl.col("provider") == "gcp")
        & (pl.col("region") == region)
        & pl.col("series").is_in(sorted(series))
        & (pl.col("currency") == "USD")
    )
    columns = ["series", "component", "purchase_option", "term_months", "hourly", "unit", "sku_id"]
    rows = components.lazy().filter(here).select(columns).collect().iter_rows()
    return {
        (s, component, option, term): (hourly, unit, sku)
        for s, component, option, term, hourly, unit, sku in rows
    }


def _line(
    rates: Rates,
    series: str,
    committed: str,
    listed: str,
    quantity: Decimal,
    option: str,
    term: int,
    region: str,
) -> Line:
    """A commitment is to cores and memory of the series, custom or not; on demand and spot, custom parts have their own price."""
    choices = (
        [(committed, option, term), (listed, "on_demand", 0)]
        if option == "committed_use"
        else [(listed, option, term)]
    )
    for component, how, months in choices:
        if found := rates.get((series, component, how, months)):
            return Line(component, quantity, found[1], found[0], how, found[2])
    raise HwpricesError(
        f"{listed} of {series} has no {option} price in {region}",
        "Choose another region or purchase option.",
    )
