"""Draw what find, price and compare answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import compress
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.read.find import machine as machines
from hwprices.read.find.break_even import COLUMN as BREAK_EVEN
from hwprices.read.find.compare import COMMITMENTS, OF_COMMITMENT
from hwprices.read.find.machine import MachineAnswer
from hwprices.read.find.offers import OfferAnswer
from hwprices.read.terminal.tables import money, number, table
from hwprices.read.terminal.words import purchase, system
from hwprices.release.wording import counted, why_unknown

SCREENFUL = 20  # rows of an answer in a terminal, unless --limit says more

STALE_MARK = "*"
STALE_CAPTION = f"{STALE_MARK} stale"
"""How a table whose cells are prices marks those that are stale, and says so below."""

PAYS_FROM = "break-even"
PAYS_FROM_CAPTION = (
    f"{PAYS_FROM}: the share of hours in use from which it costs less than on demand there"
)
"""Heading of the break-even of a commitment, and what it means."""

OFFER_HEADINGS = [
    "USD/h",
    "machine",
    "region",
    "how",
    "accelerators",
    "vCPU",
    "GiB",
    "USD/acc·h",
    "cloud",
    "note",
]
LEAST_OF_OFFER = ["GiB", "vCPU", "USD/acc·h", "note", "accelerators", "cloud"]


def amount(row: Mapping[str, Any], column: str = "effective_hourly") -> str:
    """Write a price; with its currency where that is not USD."""
    value = money(row[column])
    return value if row["currency"] == "USD" or not value else f"{value} {row['currency']}"


def pays_from(break_even: float | None) -> str:
    """Write from which share of the hours a commitment pays.

    >>> pays_from(0.6153), pays_from(1.02), pays_from(None)
    ('62%', 'never', '')
    """
    if break_even is None:
        return ""
    return f"{break_even:.0%}" if break_even < 1 else "never"


def devices(row: Mapping[str, Any]) -> str:
    """Write the accelerators of a machine: ``8 × h100-sxm5-80gb``."""
    if not row["accelerator_count"]:
        return ""
    name = str(row["accelerator_id"] or row["accelerator_kind"] or "?").partition("-")
    return f"{number(row['accelerator_count'])} × {name[2] or name[0]}"


def render_offers(answer: OfferAnswer, limit: int | None, hint: str = "") -> RenderableType:
    """Draw offers, the best first. ``hint`` is a command to copy."""
    shown = answer.rows.head(limit or SCREENFUL)
    parts: list[RenderableType] = []
    if shown.height:
        parts.append(_offers(shown, answer.rows.height, answer.sheets))
    parts += [Text(note, "yellow" if not shown.height else "") for note in answer.notes]
    if hint and shown.height:
        parts.append(Text(f"where from: {hint}", "dim", no_wrap=True, overflow="ignore"))
    return Group(*parts)


def _offers(shown: pl.DataFrame, total: int, sheets: Collection[str]) -> Table:
    overlaid = "overlay" in shown.columns
    more = f"the first {shown.height} of {total:,} (--limit {total} shows all)"
    extra = ["list", "rule"] if overlaid else []
    alone = shown["accelerator_count"].fill_null(0).max() == 0
    hidden = {"accelerators", "USD/acc·h"} if alone else set()
    headings = [name for name in (*OFFER_HEADINGS, *extra) if name not in hidden]
    rows = [_offer(row, headings, sheets) for row in shown.iter_rows(named=True)]
    empty = {h for i, h in enumerate(headings) if h == "note" and not any(r[i] for r in rows)}
    keep = [index for index, heading in enumerate(headings) if heading not in empty]
    return table(
        [headings[index] for index in keep],
        [[row[index] for index in keep] for row in rows],
        title=f"{total:,} offers" if total != 1 else "1 offer",
        right=["USD/h", "vCPU", "GiB", "USD/acc·h", "list"],
        caption=more if total > shown.height else "",
        least=LEAST_OF_OFFER,
    )


def _offer(row: Mapping[str, Any], headings: Sequence[str], sheets: Collection[str]) -> list[str]:
    price = money(row["usd_per_hour"]) or amount(row)
    os_name = system(row)
    how = purchase(row) if os_name == "linux" else f"{purchase(row)}, {os_name}"
    remarks = [flag.replace("_", " ") for flag in row["flags"]]
    if row["stale"] and row["provider"] not in sheets:
        remarks.append(f"stale: {row['observed_at']:%Y-%m-%d}")
    cells = {
        "USD/h": price,
        "machine": row["instance_type"],
        "region": row["zone"] or row["region"],
        "how": how,
        "accelerators": devices(row),
        "vCPU": number(row["vcpus"]),
        "GiB": number(row["memory_gib"]),
        "USD/acc·h": money(row["usd_per_accelerator_hour"]) or _per_accelerator(row),
        "cloud": row["provider"],
        "note": ", ".join(remarks),
        "list": amount(row, "list_effective_hourly") if row.get("overlay") else "",
        "rule": row.get("overlay") or "",
    }
    return [cells[heading] for heading in headings]


def _per_accelerator(row: Mapping[str, Any]) -> str:
    """Write the price of one accelerator in the row's own currency."""
    if not row["accelerator_count"]:
        return ""
    return amount(
        {**row, "each": row["effective_hourly"] / Decimal(row["accelerator_count"])}, "each"
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


LABELS = {
    "provider": "cloud",
    "arch": "CPU",
    "vcpus": "vCPUs",
    "physical_cores": "cores",
    "memory_gib": "memory, GiB",
    "accelerator_id": "accelerator",
    "accelerator_count": "accelerators",
    "accelerator_memory_gib": "their memory, GiB",
    "accelerator_interconnect": "interconnect",
    "local_disk_gib": "local disk, GiB",
    "network_gbps_max": "network, Gbit/s",
    "rdma": "RDMA",
    "block_storage_gbps_baseline": "block storage, Gbit/s",
    "block_storage_gbps_max": "  at most",
    "block_storage_iops_baseline": "block storage, IOPS",
    "block_storage_iops_max": "  at most",
    "accelerator_memory_bandwidth_gbs": "bandwidth each, GB/s",
    "accelerator_fp16_dense_tflops": "FP16 each, TFLOPS",
    "accelerator_bf16_dense_tflops": "BF16 each, TFLOPS",
    "accelerator_fp8_dense_tflops": "FP8 each, TFLOPS",
    "on_demand_usd_per_hour": "on demand, USD/h",
    "on_demand_region": "  in",
    "spot_usd_per_hour": "spot, USD/h",
    "spot_region": "  in",
    "commitment_1y_usd_per_hour": "1 year, USD/h",
    "commitment_1y_region": "  in",
    "commitment_1y_how": "  how",
    "commitment_1y_break_even_utilisation": f"  {PAYS_FROM}",
    "commitment_3y_usd_per_hour": "3 years, USD/h",
    "commitment_3y_region": "  in",
    "commitment_3y_how": "  how",
    "commitment_3y_break_even_utilisation": f"  {PAYS_FROM}",
}

OF_A_PRICE = ("_region", "_how")
"""Ends of the keys of LABELS that explain the price above: a difference is not news there."""

PRICE_SUFFIX = "_usd_per_hour"
"""End of the keys of LABELS that are prices; ``_stale`` in its place says whether one is stale."""


def render_comparison(
    machines_compared: pl.DataFrame, notes: Iterable[str] = (), sheets: Collection[str] = ()
) -> RenderableType:
    """Draw machines side by side, a figure a line; a line with differences is marked with ≠.

    A stale price has a star; not those of ``sheets``, whose age the notes tell.
    """
    columns = [_with_words(column) for column in machines_compared.to_dicts()]
    names = [str(column["instance_type"]) for column in columns]
    rows = []
    has_stale = False
    for key, label in LABELS.items():
        values = [column.get(key) for column in columns]
        if all(value is None for value in values):
            continue
        differs = len({str(value) for value in values}) > 1 and not key.endswith(OF_A_PRICE)
        style = "bold" if differs else ""
        old = [_is_stale(key, column, sheets) for column in columns]
        has_stale = has_stale or any(old)
        cells = [
            Text(_figure(value) + STALE_MARK * is_old, style)
            for value, is_old in zip(values, old, strict=True)
        ]
        rows.append([Text("≠" if differs else ""), Text(label), *cells])
    captions = [STALE_CAPTION] if has_stale else []
    if any(str(row[1]).strip() == PAYS_FROM for row in rows):
        captions.append(PAYS_FROM_CAPTION)
    drawn = table(
        ["", "", *names],
        rows,
        right=names,
        # a figure that is cut may be read as another; the first two machines stay
        least=names[:1:-1] if len(set(names)) == len(names) else (),
        breaks_first=True,
        caption="\n".join(captions),
    )
    return Group(drawn, *(Text(note, "yellow") for note in notes))


def _with_words(column: dict[str, Any]) -> dict[str, Any]:
    """Describe how a commitment is bought, and its break-even."""
    words: dict[str, str | None] = {}
    for name in COMMITMENTS:
        terms = {key: column.get(f"{name}_{key}") for key in OF_COMMITMENT}
        if terms["purchase_option"] is not None:
            words[f"{name}_how"] = purchase({**terms, "term_months": 0})
        words[f"{name}_{BREAK_EVEN}"] = pays_from(terms[BREAK_EVEN]) or None
    return {**column, **words}


def _is_stale(key: str, column: Mapping[str, Any], sheets: Collection[str]) -> bool:
    """Return whether a figure of a machine is a stale price."""
    if not key.endswith(PRICE_SUFFIX) or column["provider"] in sheets:
        return False
    return bool(column[f"{key.removesuffix(PRICE_SUFFIX)}_stale"])


def _figure(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return money(value) if isinstance(value, Decimal) else number(value)
