"""Compare the sample with the prices in tests/recordings/others, cloud by cloud.

Each difference has its line in explained.csv; a difference without a line, or a line without a
difference, is an error. names.csv maps another source's names of machines to ours, also those of
one region (``(default) g6-nanode-1``). not_collected.csv says why a cloud is not a provider.
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.stage import corrections
from tools.crosschecks.prices import Comparison, Sample, read_csv
from tools.generated import PROJECT

FIGURES = PROJECT / "tests" / "recordings" / "others"
HERE = Path(__file__).parent

PER_GPU = ("per GPU", "floor price")
"""A row with one of these in its note has the price of one GPU, whatever the machine has."""

OTHER_NAMES = {"datacrunch": "verda", "hetzner": "hetzner_cloud"}
"""What another source calls a provider. ``hetzner`` here are the GPU servers, not the cloud."""

Row = dict[str, str]
Ours = dict[tuple[str, str, str], dict[str, Any]]
"""Region, instance type and purchase option: the sample's row."""


def compare() -> list[Comparison]:
    """Compare the rows of all files with the sample, by provider.

    Raises:
        HwpricesError: a difference is not explained, or an explanation has no difference.
    """
    names = {(row["provider"], row["theirs"]): row for row in read_csv(HERE / "names.csv")}
    reasons = {
        (row["provider"], row["instance_type"], row["field"]): row["why"]
        for row in read_csv(HERE / "explained.csv")
    }
    results, differing = [], set()
    for provider, rows in _rows().items():
        if provider not in providers.names():
            continue
        result, ours = Comparison(providers.get(provider).about.title), _sample_rows(provider)
        for row in rows:
            there = (provider, f"{row['region']} {row['instance_type']}")
            alias = names.get(there) or names.get((provider, row["instance_type"]), {})
            differences = list(_differences(row, alias, ours))
            result.equal += not differences
            for region, machine, figure, sample, other in differences:
                key = (provider, machine, figure)
                differing.add(key)
                if key not in reasons:
                    raise HwpricesError(
                        f"the difference of {', '.join(key)} is not explained",
                        f"Explain it in {HERE.name}/explained.csv.",
                    )
                result.differ(region, machine, figure, sample, other, reasons[key])
        results.append(result)
    if gone := sorted(reasons.keys() - differing):
        raise HwpricesError(f"nothing differs in {', '.join(gone[0])}", "Remove its explanation.")
    return results


def not_collected() -> list[Row]:
    """List the clouds that are not providers: rows, machines and the reason.

    Raises:
        HwpricesError: a cloud has no reason, or a reason has no cloud.
    """
    clouds = {name: rows for name, rows in _rows().items() if name not in providers.names()}
    reasons = {row["provider"]: row["why"] for row in read_csv(HERE / "not_collected.csv")}
    if unlike := sorted(clouds.keys() ^ reasons.keys()):
        raise HwpricesError(
            f"{unlike[0]} is in only one of {FIGURES.name} and not_collected.csv",
            "Say why it is not collected, or remove its line.",
        )
    return [
        {
            "cloud": name,
            "rows": str(len(rows)),
            "machines": ", ".join(dict.fromkeys(row["instance_type"] for row in rows)),
            "why": reasons[name],
        }
        for name, rows in clouds.items()
    ]


def _rows() -> dict[str, list[Row]]:
    """Read the rows of all files, by provider."""
    rows: dict[str, list[Row]] = {}
    for file in sorted(FIGURES.glob("*.csv")):
        for row in read_csv(file):
            name = OTHER_NAMES.get(row["provider"], row["provider"])
            rows.setdefault(name, []).append(row)
    return dict(sorted(rows.items()))


def _sample_rows(provider: str) -> Ours:
    """Return the sample's Linux rows by (region, instance type, purchase option)."""
    sample = Sample(provider)
    machines = corrections.apply(
        sample.tables["instance_types"], provider, corrections.load(provider)
    )
    joined = sample.linux.join(machines, on=["provider", "instance_type"], how="left")
    return {
        (row["region"], row["instance_type"], row["purchase_option"]): row
        for row in joined.to_dicts()
    }


def _differences(row: Row, alias: Row, ours: Ours) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (region, machine, figure, sample, other) where the sample differs from a row.

    The other source's region begins with ours (``commercial (uniform)``), except for case and
    spaces. A cloud with one region has one name for it.
    """
    name, option = alias.get("instance_type", row["instance_type"]), row["purchase_option"]
    theirs_region = alias.get("region", row["region"]).lower().replace(" ", "-")
    regions = sorted({region for region, *_ in ours})
    only = regions[0] if len(regions) == 1 else "?"
    region = next((region for region in regions if theirs_region.startswith(region)), only)
    machine = ours.get((region, name, option))
    if machine is None:
        yield region, name, "row", "", row["price_hourly"]
        return
    is_per_gpu = any(words in row["note"] for words in PER_GPU)
    price = machine["hourly"] if machine["currency"] == row["currency"] else None
    if is_per_gpu and price is not None:
        price /= Decimal(str(machine["accelerator_count"]))
    pairs = {
        "price": (row["price_hourly"], price),
        "vcpus": (row["vcpus"], machine["vcpus"]),
        "memory_gib": (row["memory_gib"], machine["memory_gib"]),
        "accelerator_count": ("" if is_per_gpu else row["count"], machine["accelerator_count"]),
    }
    for figure, (theirs, value) in pairs.items():
        if theirs and (value is None or Decimal(theirs) != Decimal(str(value))):
            shown = "" if value is None else f"{Decimal(str(value)).normalize():f}"
            yield region, name, figure, shown, theirs
