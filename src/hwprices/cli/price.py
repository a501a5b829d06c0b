"""The command ``hwprices price``: the specification and prices of one machine type."""

import re
from collections.abc import Mapping
from shlex import quote
from typing import Any, Literal

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.cli import filters
from hwprices.cli.common import call, described, open_dataset, print_frame
from hwprices.cli.tables import (
    HOURS,
    PAYS_FROM,
    PAYS_FROM_CAPTION,
    SCREENFUL,
    STALE_CAPTION,
    STALE_MARK,
    amount,
    codes,
    number,
    pays_from,
    table,
    table_of,
    with_remark,
)
from hwprices.read.find import machine as machines
from hwprices.read.find.break_even import COLUMN as BREAK_EVEN
from hwprices.read.find.break_even import spot_words
from hwprices.read.find.machine import MachineAnswer
from hwprices.read.find.search import Search, price_conditions
from hwprices.release.release import REAL
from hwprices.release.versions import root_option
from hwprices.release.wording import counted, purchase, system, why_unknown


@filters.add_options("provider", "region", "os", "usd_per")
@described(machine_type=filters.machines)
def price(
    *,
    machine_type: str,
    words: list[str] | None = None,
    options: filters.Options,
    overlays: filters.OverlayFile = None,
    per: Literal["hour", "month", "year"] = "hour",
) -> None:
    """Show what a machine type has and costs."""
    dataset = open_dataset()
    answer = machines.answer(
        dataset,
        machine_type,
        " ".join(words or []),
        overlays=overlays,
        **options,
    )
    cloud = f" --provider {answer.machine.provider}" if options.get("provider") else ""
    # a machine that is only sold by the host has the host's prices
    priced = answer.rows["instance_type"].to_list()
    name = quote(priced[0] if priced else answer.machine.instance_type)
    hint = f"hwprices explain {name}{cloud}{root_option(dataset.store.root)}"
    print_frame(
        answer.rows,
        lambda _: render_machine(
            answer,
            call().limit,
            hint,
            every_system=answer.names_system or bool(options["os"]),
            per=per,
        ),
        notes=answer.notes,
    )


def render_machine(
    answer: MachineAnswer,
    limit: int | None,
    hint: str = "",
    *,
    every_system: bool = True,
    per: str = "hour",
) -> RenderableType:
    """Draw a machine: its specification, every purchase option, and its prices by region.

    Without ``every_system``, only shared Linux machines without software, if there are any.
    """
    parts: list[RenderableType] = [Text(_title(answer), "bold"), Text(_specification(answer))]
    prices = _in_usd(answer.rows.filter(*REAL))
    if answer.is_sheet:
        prices = prices.with_columns(stale=False)
    if prices.height:
        usual = prices if every_system else prices.filter(price_conditions(Search()))
        drawn = usual if usual.height else prices
        parts += [_price_ranges(drawn, limit, per), *_matrices(drawn, limit, per)]
        if drawn.height < prices.height:
            hidden = counted(prices.height - drawn.height, "price")
            line = f"not shown: {hidden} of other systems, software or tenancy (--os any)"
            parts.append(Text(line))
    if answer.billing.height:
        parts.append(_billing(answer.billing))
    if answer.managed.height:
        parts.append(_managed(answer.managed))
    parts += [Text(note, "yellow") for note in answer.notes]
    unknown = answer.rows.filter(pl.col("effective_hourly").is_null())
    for reason, count in unknown.group_by("price_reason").len().sort("len").iter_rows():
        parts.append(Text(f"{counted(count, 'price')} not known: {why_unknown(reason)}", "yellow"))
    if hint and prices.height:
        parts.append(
            Text(f"source of the first price: {hint}", "dim", no_wrap=True, overflow="ignore")
        )
    return Group(*parts)


def _in_usd(prices: pl.DataFrame) -> pl.DataFrame:
    """Convert prices to USD if there is a rate; the others stay in their currency."""
    has_rate = pl.col("usd_per_hour").is_not_null()
    return prices.with_columns(
        effective_hourly=pl.coalesce("usd_per_hour", "effective_hourly"),
        currency=pl.when(has_rate).then(pl.lit("USD")).otherwise("currency"),
    )


def _title(answer: MachineAnswer) -> str:
    machine = answer.machine
    family = (answer.specification or {}).get("family")
    return f"{machine.instance_type}  {machine.provider}" + (f", {family}" if family else "")


def _specification(answer: MachineAnswer) -> str:
    """Write in a line what a machine has; what it lacks and unknown figures are left out."""
    row = answer.specification
    if row is None:
        return "The release has no specification of it."

    def figure(column: str, unit: str) -> str:
        return number(row.get(column) or None, unit)  # an older release may lack the column

    def range_of(name: str, unit: str) -> str:
        usual, most = (figure(f"{name}_{end}", unit) for end in ("baseline", "max"))
        rises = most not in ("", usual)
        return f"{usual.removesuffix(f' {unit}')} up to {most}".strip() if rises else usual

    codes_shown = {
        name: "" if row.get(name) in (None, "none", "current") else codes(row[name])
        for name in ("accelerator_interconnect", "rdma", "status")
    }
    accelerators = ", ".join(_device(device) for device in row.get("accelerators") or ())
    parts = [
        ("", with_remark(figure("vcpus", f"vCPU{'s' * (row['vcpus'] != 1)}"), row["arch"])),
        ("", figure("memory_gib", "GiB memory")),
        (
            "",
            with_remark(accelerators, figure("accelerator_memory_gib", "GiB")),
            codes_shown["accelerator_interconnect"],
        ),
        ("local disk", figure("local_disk_gib", "GiB"), figure("local_disk_read_iops", "reads/s")),
        ("network", figure("network_gbps_max", "Gbit/s"), codes_shown["rdma"]),
        (
            "block storage",
            range_of("block_storage_gbps", "Gbit/s"),
            range_of("block_storage_iops", "IOPS"),
        ),
        ("", codes_shown["status"].replace("previous", "previous generation")),
    ]
    texts = [(label, ", ".join(filter(None, figures))) for label, *figures in parts]
    shown = " · ".join(f"{label} {text}".strip() for label, text in texts if text)
    return shown or "The release has no figure of it."


def _device(device: Mapping[str, Any]) -> str:
    name = device["accelerator_id"] or device["vendor_name"] or "of an unnamed kind"
    return f"{number(device['count'])} × {name}"


GROUPS = ("on demand", "spot", "1 year", "3 years", "other")


def _group(row: Mapping[str, Any]) -> str:
    if row["term_months"]:
        years = f"{row['term_months'] // 12} year{'s' * (row['term_months'] > 12)}"
        return years if years in GROUPS else "other"
    option = codes(row["purchase_option"])
    return option if option in GROUPS else "other"


def _price_ranges(prices: pl.DataFrame, limit: int | None, per: str) -> Table:
    """Draw the purchase options by groups: on demand, spot, 1 year, 3 years, others."""
    overlaid = prices["overlay"].count() if "overlay" in prices.columns else 0
    ranges = machines.price_ranges(prices).to_dicts()
    ranges.sort(key=lambda row: GROUPS.index(_group(row)))
    shown = ranges[: limit or SCREENFUL]
    periods = list(HOURS) if per == "hour" else [per]
    rows, before = [], ""
    for row in shown:
        group = _group(row)
        remarks = [codes(flag) for flag in row["flags"] or ()]
        rows.append(
            {
                "": group if group != before else "",
                **{f"per {name}": _times(row, "lowest", HOURS[name]) for name in periods},
                "up to": _times(row, "highest", HOURS[per])
                if row["highest"] != row["lowest"]
                else "",
                "upfront": amount(row, "upfront") if row["upfront"] else "",
                "saving": f"{row['saving']:.0%}" if row["saving"] and group != GROUPS[0] else "",
                PAYS_FROM: pays_from(row[BREAK_EVEN]),
                "option": _terms(row, group),
                "cheapest in": row["region"],
                "regions": str(row["regions"]),
                "note": "; ".join(filter(None, [*remarks, _moves(row), _stale(row)])),
            }
        )
        before = group
    seldom = ("up to", "upfront", "saving", PAYS_FROM, "option", "note")
    headings = [h for h in rows[0] if h not in seldom or any(row[h] for row in rows)]
    captions = [PAYS_FROM_CAPTION] if PAYS_FROM in headings else []
    if len(ranges) > len(shown):
        captions.append(f"and {len(ranges) - len(shown)} more: --limit {len(ranges)}")
    if overlaid:
        captions.append(
            f"own discounts changed {overlaid} of these prices; --csv has the list price"
        )
    return table(
        headings,
        [[row[heading] for heading in headings] for row in rows],
        title="\nPurchase options",
        right=[*(f"per {name}" for name in periods), "up to", "upfront", "saving", PAYS_FROM],
        wrap=["note"],
        caption="\n".join(captions),
        least=["regions", PAYS_FROM, "up to", "per year", "cheapest in", "per month"],
    )


STOPPED = {"free": "free", "billed": "billed", "until_deallocated": "billed until deallocated"}
SECONDS = {1: "second", 60: "minute", 3600: "hour"}


def _billing(terms: pl.DataFrame) -> Table:
    """Draw how the purchase options are billed, with the day on which the source was read."""
    return table_of(
        terms,
        {
            "": lambda row: codes(row["purchase_option"]),
            "billed by the": lambda row: SECONDS.get(row["increment_seconds"], ""),
            "at least a": lambda row: SECONDS.get(row["minimum_seconds"], ""),
            "stopped": lambda row: STOPPED[row["when_stopped"]],
            "outlives it": "outlives_machine",
            "machines": lambda row: "" if row["machines"] == "all" else row["machines"],
            "as of": "as_of",
        },
        title="\nBilling",
        wrap=["outlives it"],
        caption='sources: hwprices query "select source_url from billing_terms"',
        least=["as of", "at least a", "machines"],
    )


def _managed(prices: pl.DataFrame) -> Table:
    """Draw what the machine costs in SageMaker: by use and currency, in its cheapest region."""
    uses = prices.group_by("use", "currency", maintain_order=True).agg(
        pl.all().first(), regions=pl.col("region").n_unique()
    )
    return table_of(
        uses,
        {
            "use": "use",
            "per hour": lambda row: amount(row, "hourly"),
            "of on demand": ("factor", lambda factor: f"{factor:.2f} ×" if factor else ""),
            "cheapest in": "region",
            "regions": "regions",
        },
        title="\nIn SageMaker",
        right=["per hour"],
    )


def _times(row: Mapping[str, Any], column: str, hours: int) -> str:
    """Write the price of a number of hours."""
    return amount({**row, column: row[column] * hours}, column)


def _terms(row: Mapping[str, Any], group: str) -> str:
    """Write the terms that the group does not state: plan, payment, a system other than Linux."""
    bought = purchase(row)
    bought = "" if bought == group else re.sub(r"(?<=\S) \d+y(?=,|$)", "", bought)
    os_name = system(row)
    return ", ".join(filter(None, [bought, "" if os_name == "linux" else os_name]))


def _moves(row: Mapping[str, Any]) -> str:
    """Write how much the spot price moved; nothing if observed for less than a day."""
    if not row["spot_days"] or row["spot_days"] < 1:
        return ""
    return f"{spot_words(row)} in {counted(round(row['spot_days']), 'day')}"


def _stale(row: Mapping[str, Any]) -> str:
    """Write how many prices of a purchase option are stale, and since when."""
    if not row["stale"]:
        return ""
    share = "" if row["stale"] == row["prices"] else f"{row['stale']} of {row['prices']} "
    return f"{share}stale: {row['stale_since']:%Y-%m-%d}"


def _matrices(prices: pl.DataFrame, limit: int | None, per: str) -> list[RenderableType]:
    """Draw the prices by region, in a table for each operating system."""
    matrix = machines.by_region(prices)
    fresh = {
        (row["region"], row["currency"]): row
        for row in machines.by_region(prices.filter(~pl.col("stale"))).iter_rows(named=True)
    }
    systems = dict.fromkeys(name.split(" ")[0] for name in matrix.columns if " " in name)
    return [_matrix(matrix, fresh, system_name, limit, per) for system_name in systems]


def _matrix(
    matrix: pl.DataFrame,
    fresh: Mapping[tuple[str, str], Mapping[str, Any]],
    system_name: str,
    limit: int | None,
    per: str,
) -> RenderableType:
    """Draw the prices by region for one system; prices that are not in ``fresh`` have a star."""

    def cell(row: Mapping[str, Any], name: str) -> str:
        price = fresh.get((row["region"], row["currency"]), {}).get(name)
        shown = amount(row, name) if row[name] is None else _times(row, name, HOURS[per])
        return shown + STALE_MARK * (row[name] is not None and row[name] != price)

    purchases = [name for name in matrix.columns if name.startswith(f"{system_name} ")]
    has_any = matrix.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in purchases))
    ends = (" on_demand", " spot", " 1y", " 3y", "")  # in the order of GROUPS
    order = sorted(purchases, key=lambda name: ([not name.endswith(end) for end in ends], name))
    sorted_rows = has_any.sort("currency", order[0], "region", nulls_last=True)
    shown = sorted_rows.head(limit or SCREENFUL)
    rows = [
        [row["region"], *(cell(row, name) for name in order)] for row in shown.iter_rows(named=True)
    ]
    headings = [codes(name.split(" ", 1)[1]) for name in order]
    hidden = has_any.height - shown.height
    captions = [f"and {hidden} more regions: --limit {has_any.height}"] if hidden else []
    if any(text.endswith(STALE_MARK) for row in rows for text in row[1:]):
        captions.append(STALE_CAPTION)
    return table(
        ["region", *headings],
        rows,
        title=f"\nBy region, {system_name}, per {per}",
        right=headings,
        caption="\n".join(captions),
    )
