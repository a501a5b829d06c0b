"""The command ``hwprices price``: everything about the price of one machine type."""

from collections.abc import Mapping
from itertools import compress
from shlex import quote
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import (
    AsCsv,
    AsJson,
    Limit,
    Release,
    Root,
    open_dataset,
    print_frame,
)
from hwprices.cli.tables import (
    PAYS_FROM,
    PAYS_FROM_CAPTION,
    SCREENFUL,
    STALE_CAPTION,
    STALE_MARK,
    amount,
    number,
    pays_from,
    table,
)
from hwprices.errors import HwpricesError
from hwprices.read.find import machine
from hwprices.read.find import machine as machines
from hwprices.read.find.break_even import COLUMN as BREAK_EVEN
from hwprices.read.find.machine import MachineAnswer
from hwprices.release.root import root_option
from hwprices.release.wording import counted, purchase, system, why_unknown

MachineType = Annotated[
    str,
    typer.Argument(
        metavar="TYPE",
        help="A machine type, without case or the vendor's prefix: g6.xlarge, d4s_v5.",
        autocompletion=filters.machines,
    ),
]

SETTINGS = {"context_settings": {"allow_extra_args": True}}
"""Further names are taken too: the command points to compare."""


@filters.add_options("provider", *filters.PLACE, *filters.PURCHASE, "usd_per")
def price(
    *,
    context: typer.Context,
    machine_type: MachineType,
    options: filters.Options,
    overlays: filters.OverlayFile = None,
    limit: Limit = None,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Show what a machine type has and costs.

    Prints its specification, every purchase option with its cheapest region, and prices by region
    for each operating system. "break-even" is the share of hours in use from which a commitment
    costs less than on demand. Without --os all systems are shown. --json and --csv give every price
    in a row of its own.

    Example:

        hwprices price d4s_v5

        hwprices price p5.48xlarge --option on_demand --os linux
    """
    _check_one_type([machine_type, *context.args])
    dataset = open_dataset(root, version)
    answer = machine.answer(
        dataset, machine_type, overlays=filters.load_overlays(overlays), **options
    )
    cloud = f" --provider {answer.machine.provider}" if options.get("provider") else ""
    own = answer.rows["instance_type"].to_list()  # the name of the host if it is sold by the host
    name = quote(own[0] if own else answer.machine.instance_type)
    hint = f"hwprices explain {name}{cloud}{root_option(dataset.store.root)}"
    print_frame(
        answer.rows,
        as_json,
        lambda _: render_machine(answer, limit, hint),
        as_csv=as_csv,
        limit=limit,
        notes=answer.notes,
    )


def _check_one_type(names: list[str]) -> None:
    """Refuse several machine types.

    Raises:
        HwpricesError: there are several.
    """
    if len(names) > 1:
        raise HwpricesError(
            f"price shows one machine type, and {len(names)} are named",
            f"Write: hwprices compare {' '.join(map(quote, names))}. A name with spaces needs"
            " quotes.",
        )


SPECIFICATION = {
    "arch": ("CPU", ""),
    "vcpus": ("vCPUs", ""),
    "memory_gib": ("memory", "GiB"),
    "accelerators": ("accelerators", ""),
    "accelerator_memory_gib": ("accelerator memory", "GiB"),
    "accelerator_interconnect": ("interconnect", ""),
    "local_disk_gib": ("local disk", "GiB"),
    "network_gbps_max": ("network", "Gbit/s"),
    "rdma": ("RDMA", ""),
    "block_storage_gbps_baseline": ("block storage", "Gbit/s"),
    "block_storage_gbps_max": ("block storage at most", "Gbit/s"),
    "block_storage_iops_baseline": ("block storage", "IOPS"),
    "block_storage_iops_max": ("block storage at most", "IOPS"),
    "local_disk_read_iops": ("local disk reads", "IOPS"),
    "status": ("status", ""),
}


def render_machine(answer: MachineAnswer, limit: int | None, hint: str = "") -> RenderableType:
    """Draw a machine: what it has, every purchase option, and its prices by region."""
    parts: list[RenderableType] = [Text(_title(answer), "bold"), Text(_specification(answer))]
    known = _in_usd(machines.real_prices(answer.rows))
    if answer.is_sheet:
        known = known.with_columns(stale=False)
    if known.height:
        parts += [_price_ranges(known, limit), *_matrices(known, limit)]
    parts += [Text(note, "yellow") for note in answer.notes]
    unknown = answer.rows.filter(pl.col("effective_hourly").is_null())
    for reason, count in unknown.group_by("price_reason").len().sort("len").iter_rows():
        parts.append(Text(f"{counted(count, 'price')} not known: {why_unknown(reason)}", "yellow"))
    if hint and known.height:
        parts.append(Text(f"where from: {hint}", "dim", no_wrap=True, overflow="ignore"))
    return Group(*parts)


def _in_usd(known: pl.DataFrame) -> pl.DataFrame:
    """Return prices in USD where there is a rate; the others stay in their own currency."""
    has_rate = pl.col("usd_per_hour").is_not_null()
    return known.with_columns(
        effective_hourly=pl.coalesce("usd_per_hour", "effective_hourly"),
        currency=pl.when(has_rate).then(pl.lit("USD")).otherwise("currency"),
    )


def _title(answer: MachineAnswer) -> str:
    machine = answer.machine
    family = (answer.specification or {}).get("family")
    return f"{machine.instance_type}  {machine.provider}" + (f", {family}" if family else "")


def _specification(answer: MachineAnswer) -> str:
    """Write the specification in one paragraph."""
    row = answer.specification
    if row is None:
        return "The release has no specification of it."
    words = []
    for column, (name, unit) in SPECIFICATION.items():
        value = row.get(column)  # a release that is older than a column has no figure for it
        if column == "accelerators":
            text = ", ".join(_device(device) for device in value or ())
        elif value in (None, 0, "none", "", "current"):
            text = ""
        else:
            text = value if isinstance(value, str) else number(value, unit)
        if text:
            words.append(f"{name} {text}")
    return " · ".join(words)


def _device(device: Mapping[str, Any]) -> str:
    name = device["accelerator_id"] or device["vendor_name"] or "of an unnamed kind"
    return f"{number(device['count'])} × {name}"


def _price_ranges(known: pl.DataFrame, limit: int | None) -> Table:
    overlaid = (
        known.filter(pl.col("overlay").is_not_null()).height if "overlay" in known.columns else 0
    )
    ranges = machines.price_ranges(known)
    shown = ranges.head(limit or SCREENFUL)
    rows = [
        [
            amount(row, "lowest"),
            amount(row, "highest") if row["highest"] != row["lowest"] else "",
            system(row),
            purchase(row),
            pays_from(row[BREAK_EVEN]),
            row["region"],
            str(row["regions"]),
            _stale(row),
        ]
        for row in shown.iter_rows(named=True)
    ]
    headings = ["per hour", "up to", "system", "how", PAYS_FROM, "cheapest in", "regions", "note"]
    seldom = (PAYS_FROM, "note")  # columns that most answers have nothing in
    has = [h not in seldom or any(row[i] for row in rows) for i, h in enumerate(headings)]
    headings = list(compress(headings, has))
    rows = [list(compress(row, has)) for row in rows]
    remarks = [PAYS_FROM_CAPTION] if PAYS_FROM in headings else []
    if ranges.height > shown.height:
        remarks.append(f"and {ranges.height - shown.height} more: --limit {ranges.height}")
    if overlaid:
        remarks.append(
            f"own discounts changed {overlaid} of these prices; --csv has the list price"
        )
    return table(
        headings,
        rows,
        title="\nWays to buy it",
        right=["per hour", "up to", PAYS_FROM, "regions"],
        caption="\n".join(remarks),
        least=["regions", "cheapest in", PAYS_FROM, "how", "system"],
    )


def _stale(row: Mapping[str, Any]) -> str:
    """Write how many of the prices of a purchase option are stale, and since when."""
    if not row["stale"]:
        return ""
    share = "" if row["stale"] == row["prices"] else f"{row['stale']} of {row['prices']} "
    return f"{share}stale: {row['stale_since']:%Y-%m-%d}"


def _matrices(known: pl.DataFrame, limit: int | None) -> list[RenderableType]:
    """Draw the prices by region; in several tables, one for each operating system."""
    matrix = machines.by_region(known)
    fresh = {
        (row["region"], row["currency"]): row
        for row in machines.by_region(known.filter(~pl.col("stale"))).iter_rows(named=True)
    }
    purchases = [name for name in matrix.columns if name not in ("region", "currency")]
    systems = list(dict.fromkeys(name.split(" ")[0] for name in purchases))
    return [
        _matrix(
            matrix,
            fresh,
            system_name,
            [p for p in purchases if p.startswith(f"{system_name} ")],
            limit,
        )
        for system_name in systems
    ]


def _matrix(
    matrix: pl.DataFrame,
    fresh: Mapping[tuple[str, str], Mapping[str, Any]],
    system_name: str,
    purchases: list[str],
    limit: int | None,
) -> RenderableType:
    """Draw the prices by region for one system; those that are not ``fresh`` have a star."""

    def cell(row: Mapping[str, Any], name: str) -> str:
        price = fresh.get((row["region"], row["currency"]), {}).get(name)
        return amount(row, name) + STALE_MARK * (row[name] is not None and row[name] != price)

    has_any = matrix.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in purchases))
    order = [name for name in purchases if name.endswith(" on_demand")]
    order += [name for name in purchases if name not in order]
    sorted_rows = has_any.sort("currency", order[0], "region", nulls_last=True)
    shown = sorted_rows.head(limit or SCREENFUL)
    rows = [
        [row["region"], *(cell(row, name) for name in order)] for row in shown.iter_rows(named=True)
    ]
    headings = [name.split(" ", 1)[1].replace("_", " ") for name in order]
    rest = has_any.height - shown.height
    captions = [f"and {rest} more regions: --limit {has_any.height}"] if rest > 0 else []
    if any(text.endswith(STALE_MARK) for row in rows for text in row[1:]):
        captions.append(STALE_CAPTION)
    return table(
        ["region", *headings],
        rows,
        title=f"\nBy region, {system_name}",
        right=headings,
        caption="\n".join(captions),
    )
