"""Compare the sample's prices of the large clouds with public lists that others collected.

The lists are in the research folder. Each difference is explained by computing the other figure:
from the sample's rates with the other's mistake, or from the meter that the other took. A
difference that nothing explains is an error.
"""

import csv
import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from hwprices.landing.pages import Landing
from hwprices.providers import Pages, get
from hwprices.units import HOURS_PER_MONTH
from tools.generated import PROJECT

KARPENTER = "AWS, Karpenter"
CLOUDSPECS_AWS = "AWS, Cloudspecs"
CLOUDSPECS_GCP = "Google Cloud, Cloudspecs"
COMPOSED_GCP = "Google Cloud, composed"
INSTANCES_AZURE = "Azure, price list"
AWS_SPECS = "AWS specs, Cloudspecs"
GCP_SPECS = "Google Cloud specs, Cloudspecs"

SAME = Decimal("1e-6")
"""Relative difference below which two prices are equal: the others keep six decimals or floats."""

REPRODUCED = Decimal("1e-5")
"""How exactly a mistake must lead to the other's figure, of which some have six decimals."""

DECIMAL_GIGABYTE = Decimal(10**9) / 2**30

Parts = Mapping[str, tuple[Decimal, Decimal]]
"""Component → (quantity, price of one)."""

OPTIONS = {
    "on_demand_usd_per_hour": (("on_demand", 0), 1),
    "spot_usd_per_hour": (("spot", 0), 1),
    "commitment_1y_usd_per_month": (("committed_use", 12), HOURS_PER_MONTH),
    "commitment_3y_usd_per_month": (("committed_use", 36), HOURS_PER_MONTH),
}
"""Columns of the composed prices, with (purchase option, months) and hours of the unit."""

NOT_LISTED = "Compute Engine does not list the type in the region"
CUSTOM = "a custom machine: `quote_custom_machine` prices those"
SLICE = 'below one GPU the SKU "1/8 vGPU" is billed (G15); the other adds up a share of all parts'
NOT_SOLD = "a3-highgpu below 8 GPUs is not sold on demand"
SUSTAINED = "no commitment is sold; the other has the sustained-use price"
PREMIUM = "the other has M2's premium with the sustained-use discount, not a commitment"


@dataclass(frozen=True)
class Difference:
    """One line of differences.csv; ``sample`` is empty where the sample has no figure."""

    source: str
    region: str
    machine: str
    figure: str
    sample: str
    other: str
    why: str


@dataclass
class Comparison:
    """One source; ``one_sided`` counts (side, reason) of figures that one side lacks."""

    source: str
    equal: int = 0
    differences: list[Difference] = field(default_factory=list)
    one_sided: Counter[tuple[str, str]] = field(default_factory=Counter)

    def differ(self, region: str, machine: str, figure: str, *values: str) -> None:
        """Add a difference; ``values`` are the sample's figure, the other and the reason."""
        self.differences.append(Difference(self.source, region, machine, figure, *values))


class Sample:
    """The tables that the bundled sample has of one provider."""

    def __init__(self, provider: str) -> None:
        landing = Landing(PROJECT / "data" / "sample")
        run = landing.latest_run(provider)
        assert run is not None, f"the sample has no run of {provider}: write it with tools/sample"
        frames: dict[str, list[pl.DataFrame]] = {}
        for part in get(provider).normalise(Pages(run, landing)):
            frames.setdefault(part.table, []).append(part.frame.lazy().collect())
        self.tables = {name: pl.concat(parts) for name, parts in frames.items()}

    @cached_property
    def linux(self) -> pl.DataFrame:
        """Prices of Linux at shared tenancy with the license included."""
        return self.tables["prices"].filter(
            os="linux", software="none", license_model="included", tenancy="shared"
        )

    def on_demand(self, region: str) -> dict[str, Decimal | None]:
        """Map types to on-demand prices of one region."""
        rows = self.linux.filter(region=region, purchase_option="on_demand", currency="USD")
        return dict(rows.select("instance_type", "effective_hourly").iter_rows())

    def parts(self, region: str) -> dict[str, Parts]:
        """Map types to the parts of their on-demand price."""
        prices = self.linux.filter(region=region, purchase_option="on_demand")
        lines = self.tables["price_components"].join(
            prices.select("price_id", "instance_type"), on="price_id"
        )
        parts: dict[str, dict[str, tuple[Decimal, Decimal]]] = {}
        columns = lines.select("instance_type", "component", "quantity", "unit_price")
        for name, component, quantity, price in columns.iter_rows():
            parts.setdefault(name, {})[component] = (quantity, price)
        return dict(parts)


def total(parts: Parts, **changes: Decimal) -> Decimal:
    """Add up parts; ``changes`` are factors of single components."""
    return sum(
        (n * price * changes.get(name, Decimal(1)) for name, (n, price) in parts.items()),
        start=Decimal(0),
    )


def with_rates_of(parts: Parts, rates: Parts) -> Decimal:
    """Price the cores and memory of one machine at the rates of another."""
    return sum((parts[name][0] * rates[name][1] for name in ("core", "ram")), start=Decimal(0))


@dataclass(frozen=True)
class Mistake:
    """A mistake in the other's list: which types it touches, and how to make it on purpose."""

    cause: str
    prefixes: tuple[str, ...]
    figure: Callable[[str, dict[str, Parts], Decimal], Decimal]
    """(type, parts by type, the other's GiB of memory) → the other's price."""


MISTAKES = (
    Mistake(
        "memory sold by the decimal gigabyte taken for GiB (G13)",
        ("c4d-",),
        lambda name, parts, _: total(parts[name], ram=DECIMAL_GIGABYTE),
    ),
    Mistake(
        "two whole cores for a shared-core machine (G3)",
        ("e2-micro", "e2-small", "e2-medium"),
        lambda name, parts, _: total(parts[name], core=2 / parts[name]["core"][0]),
    ),
    Mistake(
        "M2 without its upgrade premium (G6)",
        ("m2-",),
        lambda name, parts, _: total(parts[name], premium=Decimal(0), premium_2=Decimal(0)),
    ),
    Mistake(
        "m4-ultramem-224 at the rates of its smaller siblings (G6)",
        ("m4-ultramem-224",),
        lambda name, parts, _: with_rates_of(parts[name], parts["m4-megamem-112"]),
    ),
    Mistake(
        "n1-megamem and n1-ultramem at N1's rates; they are billed as M1",
        ("n1-megamem-", "n1-ultramem-"),
        lambda name, parts, _: with_rates_of(parts[name], parts["n1-standard-1"]),
    ),
    Mistake(
        "memory rounded to whole MiB, as the API lists it (G18)",
        ("n1-highcpu-",),
        lambda name, parts, gib: total(parts[name], ram=gib / parts[name]["ram"][0]),
    ),
)

NO_RATE = "no rates of H4D; a live run has them (G16)"
WHOLE_GPU = "a whole GPU for a share of one (G15)"
EDGE = "A3 Edge at the rates of A3 High; no known SKU names A3 Edge (G17)"
TIER_1 = "`-tier1`: faster networking, an option of a machine, not a type"


def explain(name: str, other: Mapping[str, Decimal], parts: dict[str, Parts], gib: Decimal) -> str:
    """Return the mistake that leads to the other's price.

    Raises:
        AssertionError: none does.
    """
    for mistake in MISTAKES:
        if name.startswith(mistake.prefixes):
            assert near(mistake.figure(name, parts, gib), other[name]), f"{name}: {other[name]}"
            return mistake.cause
    if name.startswith("g4-standard-"):
        assert near(_with_whole_gpu(name, other, gib), other[name]), name
        return WHOLE_GPU
    if name.startswith("a3-edgegpu-8g"):
        disks = 0 if name.endswith("-nolssd") else 1
        expected = total(parts["a3-highgpu-8g"], local_ssd=Decimal(disks))
        assert near(expected, other[name]), name
        return EDGE
    assert name.startswith("h4d-"), f"{name}: {other[name]} is not explained"
    return NO_RATE


def _with_whole_gpu(name: str, other: Mapping[str, Decimal], gib: Decimal) -> Decimal:
    """Price a share of g4-standard-48 with a complete GPU: 48 cores, 180 GiB, one GPU.

    The larger machines differ by cores and memory only, so half of g4-standard-48 without the half
    of it says what those cost. Memory is 0.00587 a GiB.
    """
    ram = Decimal("0.00587")
    core = (other["g4-standard-48"] - other["g4-standard-24"] - 90 * ram) / 24
    cores = int(name.rpartition("-")[2])
    return other["g4-standard-48"] - (48 - cores) * core - (180 - gib) * ram


def near(one: Decimal, other: Decimal) -> bool:
    """Check whether a mistake leads to the other's figure."""
    return abs(one / other - 1) < REPRODUCED


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a CSV file, compressed or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_json(path: Path) -> Any:
    """Read a JSON file, compressed or not, with numbers as Decimal."""
    content = path.read_bytes()
    text = gzip.decompress(content) if path.suffix == ".gz" else content
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def compare(research: Path) -> Iterator[Comparison]:
    """Compare the sample with every list in the research folder."""
    truth = research / "truth"
    aws, gcp = Sample("aws"), Sample("gcp")
    cloudspecs_aws = read_csv(truth / "cloudspecs_aws_us-east-1_2026-07.csv")
    cloudspecs_gcp = read_csv(truth / "cloudspecs_gcp_us-central1_2026-07.csv")
    karpenter = read_json(truth / "aws_ondemand_us-east-1_2026-07.json")["us-east-1"]
    composed = read_csv(truth / "gcp_machine_prices_2026-07-30.csv.gz")
    yield compare_aws(KARPENTER, aws, karpenter)
    yield compare_aws(CLOUDSPECS_AWS, aws, _prices(cloudspecs_aws))
    yield compare_gcp(gcp, cloudspecs_gcp)
    yield compare_composed(gcp, composed)
    yield compare_azure(Sample("azure"), research)
    yield compare_specs(AWS_SPECS, aws, cloudspecs_aws)
    yield compare_specs(GCP_SPECS, gcp, cloudspecs_gcp)


def _prices(cloudspecs: list[dict[str, str]]) -> dict[str, Decimal]:
    return {row["instance"]: Decimal(row["price_hour"]) for row in cloudspecs if row["price_hour"]}


def compare_aws(source: str, sample: Sample, other: Mapping[str, Decimal]) -> Comparison:
    """Compare on-demand prices of us-east-1."""
    prices, result = sample.on_demand("us-east-1"), Comparison(source)
    for name, price in other.items():
        ours = prices.get(name)
        assert ours is not None, f"{name}: the sample has no price, the other {price}"
        assert abs(ours / price - 1) < SAME, f"{name}: {ours} and {price}"
        result.equal += 1
    for name in prices.keys() - other.keys():
        result.one_sided["sample", f"{name.partition('.')[0]} is not in the list"] += 1
    return result


def compare_gcp(sample: Sample, cloudspecs: list[dict[str, str]]) -> Comparison:
    """Compare on-demand prices of us-central1."""
    region, result = "us-central1", Comparison(CLOUDSPECS_GCP)
    other = _prices(cloudspecs)
    memory = {row["instance"]: Decimal(row["ram_gib"] or 0) for row in cloudspecs}
    prices, parts = sample.on_demand(region), sample.parts(region)
    for name, price in other.items():
        ours = prices.get(name)
        if name not in prices:
            result.one_sided["other", _why_not_on_demand(name)] += 1
        elif ours is not None and abs(ours / price - 1) < SAME:
            result.equal += 1
        else:
            shown = "" if ours is None else f"{ours:.6f}"
            cause = explain(name, other, parts, memory[name])
            result.differ(region, name, "price", shown, f"{price:.6f}", cause)
    for name, ours in prices.items():
        if ours and name not in other:
            family = name.rpartition("-")[0] or name
            result.one_sided["sample", f"{family} is not in the list"] += 1
    return result


def _why_not_on_demand(name: str) -> str:
    """Return why the sample has no on-demand row of a type that the other prices."""
    if name.endswith("-tier1"):
        return TIER_1
    assert name.startswith(("a3-highgpu-", "a3-ultragpu-")), name
    return f"{name.rpartition('-')[0].removesuffix('-8g')} is not sold on demand"


def compare_composed(sample: Sample, composed: list[dict[str, str]]) -> Comparison:
    """Compare all purchase options in the sample's regions with another project's composition."""
    regions = set(sample.tables["regions"]["region"])
    listed = set(sample.tables["availability"].select("instance_type", "region").iter_rows())
    key = ("instance_type", "region", "purchase_option", "term_months", "hourly")
    ours = sample.linux.filter(pl.col("commitment_plan").ne_missing("flexible"))
    prices = {row[:4]: row[4] for row in ours.select(key).iter_rows()}
    result = Comparison(COMPOSED_GCP)
    for row in composed:
        name, region = row["instance_type"], row["region"]
        for column, (option, hours) in OPTIONS.items():
            if region not in regions or not row[column]:
                continue
            if why := not_compared(name, region, option, listed):
                result.one_sided["other", why] += 1
                continue
            expected, hourly = Decimal(row[column]) / hours, prices[(name, region, *option)]
            assert hourly is not None, (name, region, option)
            assert abs(hourly / expected - 1) < SAME, (name, region, option, hourly, expected)
            result.equal += 1
    return result


def not_compared(
    name: str, region: str, option: tuple[str, int], listed: set[tuple[str, str]]
) -> str | None:
    """Return why a composed figure is not compared, None where it is."""
    if name.startswith("custom-"):
        return CUSTOM
    if (name, region) not in listed:
        return NOT_LISTED
    if name in ("g4-standard-6", "g4-standard-12", "g4-standard-24"):
        return SLICE
    if name in ("a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g") and option == ("on_demand", 0):
        return NOT_SOLD
    if name in ("f1-micro", "g1-small") and option[0] == "committed_use":
        return SUSTAINED
    if name.startswith("m2-") and option[0] == "committed_use":
        return PREMIUM
    return None


def compare_azure(sample: Sample, research: Path) -> Comparison:
    """Compare on-demand prices of two regions; the meters of each size decide who is right."""
    others = read_json(research / "truth" / "azure_ondemand_by_region_2026-06.json.gz")
    result = Comparison(INSTANCES_AZURE)
    for region in ("francecentral", "westeurope"):
        meters = read_json(research / "recordings/azure/radar" / f"vm-{region}.json.gz")
        linux = sample.tables["prices"].filter(
            region=region, os="linux", purchase_option="on_demand", currency="USD"
        )  # of any tenancy: the list has dedicated hosts too
        prices = dict(linux.select("instance_type", "hourly").iter_rows())
        for size, price in others[region].items():
            ours, other = prices.get(size), Decimal(price)
            if ours is None:
                promo = size.endswith("_Promo")
                result.one_sided["other", PROMO if promo else "other sizes"] += 1
            elif ours == other:
                result.equal += 1
            else:
                cause = find_meter(size, ours, other, meters.values())
                result.differ(region, size, "price", f"{ours.normalize():f}", str(other), cause)
        only_sample = len(prices.keys() - others[region].keys())
        result.one_sided["sample", "sizes that are not in the list"] += only_sample
    return result


PROMO = "Promo sizes, which are not published here"


def find_meter(size: str, ours: Decimal, other: Decimal, meters: Iterable[dict[str, Any]]) -> str:
    """Return which meter of the size has the other price.

    Raises:
        AssertionError: our price is not the price of the Linux meter.
    """
    prices: dict[str, set[Decimal]] = {"Linux": set(), "Windows": set(), "Cloud Services": set()}
    for meter in meters:
        product = meter["productName"]
        if squeeze(meter["skuName"]) != squeeze(size) or "promo" in product:
            continue
        is_windows = re.search("Windows|Win$", product)
        os = "Windows" if is_windows else "Linux"
        kind = "Cloud Services" if re.search("Cloud ?Services", product) else os
        prices[kind].add(Decimal(meter["retailPrice"]))
    assert prices["Linux"] == {ours}, f"{size}: {ours} is not the price of its Linux meter"
    for kind in ("Cloud Services", "Windows"):
        if other in prices[kind]:
            return f"the price of the {kind} meter"
    return "no meter has the other price: it changed between June and August"


def squeeze(name: str) -> str:
    """Drop case, punctuation and tier from a size's name; data/sample/README.md has the alias."""
    plain = re.sub("[^a-z0-9]", "", name.lower()).removeprefix("standard")
    return plain.replace("rtxpro6000bsev6", "rtx6kv6")


SPEC_COLUMNS = {
    "vcpus": "vcpus",
    "memory_gib": "ram_gib",
    "arch": "arch",
    "accelerator_count": "accelerators",
}

RETIRED = "a retired type whose GPUs the other leaves out"
SPEC_CAUSES = {
    "g6f": "a share of an L4; the other counts a whole one (A5)",
    "gr6f": "a share of an L4; the other counts a whole one (A5)",
    "g2": RETIRED,
    "g3": RETIRED,
    "g3s": RETIRED,
    "p2": RETIRED,
    "m1": "3,788 MiB in EC2's API; rounded in the price list",
    "r3": "15,360 MiB in EC2's API; 15.25 GiB in the price list",
    "g4-standard": "a share of a GPU; the other counts a whole one (G15)",
}


def compare_specs(source: str, sample: Sample, cloudspecs: list[dict[str, str]]) -> Comparison:
    """Compare vCPUs, memory, instruction set and accelerators."""
    types = {row["instance_type"]: row for row in sample.tables["instance_types"].to_dicts()}
    result = Comparison(source)
    for row in cloudspecs:
        name = row["instance"]
        for ours, theirs in SPEC_COLUMNS.items():
            if name not in types or not row[theirs]:
                continue
            one, other = types[name][ours], row[theirs]
            if one == other or (ours != "arch" and abs(float(one) - float(other)) < 0.01):
                result.equal += 1
                continue
            family = name.partition(".")[0]
            cause = SPEC_CAUSES[family.rpartition("-")[0] or family]
            result.differ("", name, ours, f"{float(one):g}", f"{float(other):g}", cause)
    return result
