"""Compare the sample's prices of AWS and Google Cloud with those that others collected.

    python -m tools.price_crosscheck ../shared

writes docs/price-crosscheck.md; with ``--check`` it compares the page instead, as a test does. A
price that differs is explained: the other's figure is computed again from the sample's rates with
the other's mistake, so that an explanation cannot be a guess. A difference without one is an error.
"""

import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

import polars as pl

from hwprices.landing.pages import Landing
from hwprices.providers import Pages, get
from hwprices.units import HOURS_PER_MONTH
from tools.generated import PROJECT, write_or_check

REPORT = PROJECT / "docs" / "price-crosscheck.md"

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
PREMIUM = "the other has M2's premium with the sustained-use discount, which is no commitment"


class Sample:
    """What the bundled sample says of one provider."""

    def __init__(self, provider: str) -> None:
        landing = Landing(PROJECT / "data" / "sample")
        run = landing.latest_run(provider)
        assert run is not None
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
        rows = self.linux.filter(region=region, purchase_option="on_demand")
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


@dataclass(frozen=True)
class Difference:
    """One machine with two prices; ``sample`` is None where the sample has none."""

    name: str
    sample: Decimal | None
    other: Decimal
    cause: str


@dataclass(frozen=True)
class Comparison:
    """How two lists agree: equal prices, those that differ, and types that only one side prices."""

    equal: int
    differences: tuple[Difference, ...]
    only_other: Mapping[str, int]
    only_sample: tuple[str, ...]


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
        "memory rounded to whole MiB, as the API lists it (1,843 for 1.8 GiB) (G18)",
        ("n1-highcpu-",),
        lambda name, parts, gib: total(parts[name], ram=gib / parts[name]["ram"][0]),
    ),
)

NO_RATE = "the sample has no rates of H4D; a live run has (G16)"
WHOLE_GPU = "a whole GPU for a machine with an eighth, a quarter or half of one (G15)"
EDGE = "A3 Edge at the rates of A3 High; no known SKU names A3 Edge (G17)"
TIER_1 = "`-tier1`: faster networking, an option of a machine and no type"


def explain(name: str, other: Mapping[str, Decimal], parts: dict[str, Parts], gib: Decimal) -> str:
    """Name the mistake that leads to the other's price.

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
    """Give a share of g4-standard-48 as much GPU as the whole has: 48 cores, 180 GiB, one GPU.

    The larger machines differ by cores and memory only, so half of g4-standard-48 without the half
    of it says what those cost. Memory is 0.00587 a GiB.
    """
    ram = Decimal("0.00587")
    core = (other["g4-standard-48"] - other["g4-standard-24"] - 90 * ram) / 24
    cores = int(name.rpartition("-")[2])
    return other["g4-standard-48"] - (48 - cores) * core - (180 - gib) * ram


def near(one: Decimal, other: Decimal) -> bool:
    """Tell whether a mistake leads to the other's figure."""
    return abs(one / other - 1) < REPRODUCED


def read_csv(path: Path) -> list[dict[str, str]]:
    """Read a CSV file, packed or not."""
    if path.suffix == ".gz":
        with gzip.open(path, "rt") as packed:
            return list(csv.DictReader(packed))
    with path.open() as file:
        return list(csv.DictReader(file))


def compare_cloudspecs_gcp(sample: Sample, research: Path) -> Comparison:
    """Compare on-demand prices of us-central1 with Cloudspecs'."""
    rows = read_csv(research / "truth" / "cloudspecs_gcp_us-central1_2026-07.csv")
    other = {row["instance"]: Decimal(row["price_hour"]) for row in rows if row["price_hour"]}
    memory = {row["instance"]: Decimal(row["ram_gib"] or 0) for row in rows}
    prices, parts = sample.on_demand("us-central1"), sample.parts("us-central1")
    differences, only_other, equal = [], Counter[str](), 0
    for name, price in other.items():
        ours = prices.get(name)
        if name not in prices:
            only_other[_why_not_on_demand(name)] += 1
        elif ours is not None and abs(ours / price - 1) < SAME:
            equal += 1
        else:
            cause = explain(name, other, parts, memory[name])
            differences.append(Difference(name, ours, price, cause))
    only_sample = [name for name, price in prices.items() if price and name not in other]
    return Comparison(equal, tuple(differences), only_other, tuple(sorted(only_sample)))


def _why_not_on_demand(name: str) -> str:
    """Say why the sample has no on-demand row of a type that the other prices."""
    if name.endswith("-tier1"):
        return TIER_1
    assert name.startswith(("a3-highgpu-", "a3-ultragpu-")), name
    return f"{name.rpartition('-')[0].removesuffix('-8g')}: not sold on demand"


def compare_composed(sample: Sample, research: Path) -> Comparison:
    """Compare all options in the sample's regions with those that another project composed."""
    regions = set(sample.tables["regions"]["region"])
    listed = set(sample.tables["availability"].select("instance_type", "region").iter_rows())
    key = ("instance_type", "region", "purchase_option", "term_months", "hourly")
    composed = sample.linux.filter(pl.col("commitment_plan").ne_missing("flexible"))
    prices = {row[:4]: row[4] for row in composed.select(key).iter_rows()}
    equal, only_other = 0, Counter[str]()
    for row in read_csv(research / "truth" / "gcp_machine_prices_2026-07-30.csv.gz"):
        name, region = row["instance_type"], row["region"]
        for column, (option, hours) in OPTIONS.items():
            if region not in regions or not row[column]:
                continue
            if why := not_compared(name, region, option, listed):
                only_other[why] += 1
                continue
            expected, hourly = Decimal(row[column]) / hours, prices[(name, region, *option)]
            assert hourly is not None, (name, region, option)
            assert abs(hourly / expected - 1) < SAME, (name, region, option, hourly, expected)
            equal += 1
    return Comparison(equal, (), only_other, ())


def not_compared(
    name: str, region: str, option: tuple[str, int], listed: set[tuple[str, str]]
) -> str | None:
    """Say why a composed figure is not compared, None where it is."""
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


def compare_aws(sample: Sample, other: Mapping[str, Decimal]) -> Comparison:
    """Compare on-demand prices of us-east-1."""
    prices = sample.on_demand("us-east-1")
    equal = 0
    for name, price in other.items():
        ours = prices.get(name)
        assert ours is not None, f"{name}: the sample has no price, the other {price}"
        assert abs(ours / price - 1) < SAME, f"{name}: {ours} and {price}"
        equal += 1
    return Comparison(equal, (), {}, tuple(sorted(prices.keys() - other.keys())))


def karpenter(research: Path) -> dict[str, Decimal]:
    """Read the first list of AWS prices."""
    text = (research / "truth" / "aws_ondemand_us-east-1_2026-07.json").read_text()
    prices: dict[str, dict[str, Decimal]] = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    return prices["us-east-1"]


def cloudspecs_aws(research: Path) -> dict[str, Decimal]:
    """Read the second list of AWS prices."""
    rows = read_csv(research / "truth" / "cloudspecs_aws_us-east-1_2026-07.csv")
    return {row["instance"]: Decimal(row["price_hour"]) for row in rows if row["price_hour"]}


SPEC_COLUMNS = {
    "vcpus": "vcpus",
    "memory_gib": "ram_gib",
    "arch": "arch",
    "accelerator_count": "accelerators",
}

SPEC_CAUSES = {
    "g6f": "A share of an L4; the other counts a whole one (A5)",
    "gr6f": "A share of an L4; the other counts a whole one (A5)",
    "g2": "A retired type whose GPUs the other leaves out",
    "g3": "A retired type whose GPUs the other leaves out",
    "g3s": "A retired type whose GPUs the other leaves out",
    "p2": "A retired type whose GPUs the other leaves out",
    "m1": "EC2's API says 3,788 MiB; the other has the rounded figure of the price list",
    "r3": "EC2's API says 15,360 MiB; the other has the figure of the price list",
    "g4-standard": "A share of a GPU; the other counts a whole one (G15)",
}


def compare_specs(sample: Sample, file: Path) -> tuple[int, list[tuple[str, ...]]]:
    """Compare vCPUs, memory, instruction set and accelerators; return count and differences."""
    types = {row["instance_type"]: row for row in sample.tables["instance_types"].to_dicts()}
    equal, different = 0, []
    for row in read_csv(file):
        machine = types.get(row["instance"])
        for ours, theirs in SPEC_COLUMNS.items():
            if machine is None or not row[theirs]:
                continue
            one, other = machine[ours], row[theirs]
            if one == other or (ours != "arch" and abs(float(one) - float(other)) < 0.01):
                equal += 1
                continue
            family = (
                row["instance"].partition(".")[0].rpartition("-")[0]
                or (row["instance"].partition(".")[0])
            )
            cause = SPEC_CAUSES[family]
            shown = f"{one:g}" if isinstance(one, float) else str(one)
            different.append((row["instance"], ours, shown, f"{float(other):g}", cause))
    return equal, sorted(different)


def render(research: Path) -> str:
    """Compare everything and write the page."""
    aws, gcp = Sample("aws"), Sample("gcp")
    truth = research / "truth"
    first, second = (
        compare_aws(aws, karpenter(research)),
        compare_aws(aws, cloudspecs_aws(research)),
    )
    central, composed = compare_cloudspecs_gcp(gcp, research), compare_composed(gcp, research)
    aws_specs = compare_specs(aws, truth / "cloudspecs_aws_us-east-1_2026-07.csv")
    gcp_specs = compare_specs(gcp, truth / "cloudspecs_gcp_us-central1_2026-07.csv")
    lines = [
        "# Prices of AWS and Google Cloud compared with other collectors'",
        "",
        "The sample's Linux prices are compared with public lists of the same weeks. Each",
        "difference is explained, and each explanation is computed: the other's figure follows",
        "from the sample's rates once its mistake is made on purpose. Letters with numbers are",
        "[known wrong numbers](known-wrong-numbers.md). This page is written by",
        "`tools/price_crosscheck.py`; do not edit it. [Azure has a page of its",
        "own](azure-crosscheck.md).",
        "",
        "| list | prices in both | equal | different |",
        "|---|---:|---:|---:|",
        _summary("AWS us-east-1 on demand, Karpenter (July 2026, Apache-2.0)", first),
        _summary("AWS us-east-1 on demand, Cloudspecs (14 July 2026, MIT)", second),
        _summary("Google Cloud us-central1 on demand, Cloudspecs (14 July 2026, MIT)", central),
        _summary("Google Cloud, four regions and options, composed (30 July 2026)", composed),
        "",
        "The sample's own AWS prices come from the first list, whose `.metal` prices were replaced",
        "(A13), and the sample's rates of Google Cloud were solved from the last. The two lists of",
        "Cloudspecs are independent of both.",
        "",
        "## Google Cloud: prices that differ from Cloudspecs'",
        "",
        "| type | sample | other | why they differ |",
        "|---|---:|---:|---|",
        *(_difference(difference) for difference in _by_cause(central.differences)),
        "",
        "## Prices that only one side has",
        "",
        "| list | only there | prices |",
        "|---|---|---:|",
        *(_only("Cloudspecs", why, n) for why, n in sorted(central.only_other.items())),
        *(_only("composed", why, n) for why, n in sorted(composed.only_other.items())),
        "",
        f"Only the sample, and not Cloudspecs, prices {', '.join(second.only_sample)}",
        f"in us-east-1, and {', '.join(central.only_sample)} in us-central1.",
        "",
        "## Specs",
        "",
        "Of Cloudspecs' vCPUs, memory, instruction sets and numbers of accelerators",
        f"{aws_specs[0]:,} figures of AWS and {gcp_specs[0]:,} of Google Cloud are equal to the",
        "sample's. These differ:",
        "",
        "| type | column | sample | other | why they differ |",
        "|---|---|---:|---:|---|",
        *(f"| {' | '.join(row)} |" for row in (*aws_specs[1], *gcp_specs[1])),
    ]
    return "\n".join(lines) + "\n"


def _summary(title: str, result: Comparison) -> str:
    both = result.equal + sum(d.sample is not None for d in result.differences)
    unequal = sum(d.sample is not None for d in result.differences)
    return f"| {title} | {both:,} | {result.equal:,} | {unequal} |"


def _by_cause(differences: tuple[Difference, ...]) -> list[Difference]:
    return sorted(differences, key=lambda d: (d.sample is None, d.cause, d.name))


def _difference(difference: Difference) -> str:
    ours = "no price" if difference.sample is None else f"{difference.sample:.6f}"
    return f"| {difference.name} | {ours} | {difference.other:.6f} | {difference.cause} |"


def _only(source: str, why: str, count: int) -> str:
    return f"| {source} | {why} | {count} |"


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    return write_or_check(REPORT, render(Path(arguments[0])), arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
