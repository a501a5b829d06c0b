"""Make tables and quarantine rows from the items of a vendor's JSON, one item at a time.

Also describes the accelerators of a machine, and refuses figures that no machine has: they do not
fit their column and would fail the provider.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import polars as pl

from hwprices.landing.bodies import PARSER_FAILURES, RefusedItemError
from hwprices.landing.pages import Page
from hwprices.rows import frames, prices
from hwprices.rows.frames import ORIGIN, origin
from hwprices.rows.prices import DEFAULTS, price_rows
from hwprices.schemas import PRICE_KEY
from hwprices.schemas.tables import InstanceTypes, PriceComponents, Prices, Quarantine, Table
from hwprices.specs.accelerator_names import Match
from hwprices.units import Timestamp

Row = dict[str, Any]

REFUSED: Mapping[str, Any] = {
    **dict.fromkeys(("provider", "region", "table", "reason", "message", "word"), pl.String),
    **{"line": pl.String, "observed_at": Timestamp, "source_url": pl.String},
    "raw_sha256": pl.String,
}


class VendorRows:
    """The rows of one provider. An item that cannot be read is quarantined; the others stay.

    ``counts`` are items left out on purpose, by reason. ``named_by`` lists the members that may
    name an item in messages; the first one present is used.
    """

    def __init__(self, provider: str, *named_by: str) -> None:
        self.provider = provider
        self.named_by = named_by
        self.counts: Counter[str] = Counter()
        self._rows: defaultdict[Table, list[Row]] = defaultdict(list)
        self._refused: list[Row] = []
        self._parts: list[Row] = []

    @contextmanager
    def reading(
        self, page: Page, item: Any, table: Table = Prices, region: str | None = None
    ) -> Iterator[None]:
        """Quarantine the item if the block fails to read it."""
        try:
            yield
        except RefusedItemError as refusal:
            self.refuse(page, item, refusal, table, region)
        except PARSER_FAILURES as error:
            problem = f"{type(error).__name__} {error}".strip()
            self.refuse(page, item, RefusedItemError("unreadable_line", problem), table, region)

    def refuse(
        self,
        page: Page,
        item: Any,
        refusal: RefusedItemError,
        table: Table = Prices,
        region: str | None = None,
    ) -> None:
        """Quarantine a complete item, with the page it is from."""
        line = item if isinstance(item, Mapping) else {"item": item}
        name = next((f"{line[name]}: " for name in self.named_by if name in line), "")
        refusal = RefusedItemError(refusal.reason, name + refusal.message, refusal.word)
        self._refuse(refusal, table, region, line, _origin(page))

    def add(self, model: Table, page: Page, row: Row) -> None:
        """Add a row of a table. Missing columns become null, in a price the defaults.

        A price may have ``parts``: rows of price_components without the columns they share with it.

        Raises:
            RefusedItemError: a row of instance_types has a figure that no machine has.
        """
        if model is InstanceTypes and is_impossible(row):
            raise RefusedItemError("impossible_figure", "no machine has such a figure")
        self._rows[model].append({"provider": self.provider} | _origin(page) | row)

    def table(self, model: Table) -> pl.DataFrame:
        """Make a table of its rows. Rows that differ only in their page become one."""
        dtypes = model.dtypes
        rows = _distinct(self._parts if model is PriceComponents else self._rows[model])
        if not rows:
            return frames.empty(model)
        schema = {name: dtypes[name] for name in dtypes if any(name in row for row in rows)}
        frame = pl.DataFrame([{n: row.get(n) for n in schema} for row in rows], schema=schema)
        if model is InstanceTypes:
            empty = pl.lit([], dtype=pl.List(pl.String)).alias("corrections")
            frame = frame.with_columns(*accelerator_totals(), empty)
        return frames.conform(frame.lazy(), model).collect()

    def prices(self) -> pl.DataFrame:
        """Make the table of prices. Rows with the same key but different prices are refused."""
        rows = self._settled()
        if not rows:
            return frames.empty(Prices)
        dtypes = Prices.dtypes
        schema = {n: dtypes[n] for n in dtypes if any(n in row for row in rows)}
        schema["source_url"] = dtypes["source_url"]
        made = [{n: row.get(n, DEFAULTS.get(n)) for n in schema} for row in rows]
        priced = price_rows(pl.LazyFrame(made, schema=schema), provider=self.provider).collect()
        shared = ("provider", "region", "instance_type", "purchase_option", "currency")
        for row, price_id in zip(rows, priced["price_id"], strict=True):
            common = {"price_id": price_id, **{name: row[name] for name in shared}}
            origin = {name: row[name] for name in ("observed_at", "raw_sha256")}
            self._parts += [{**origin, **common, **part} for part in row.get("parts", ())]
        return priced

    def refused(self, table: Table) -> pl.DataFrame:
        """Make the quarantine rows of a table; equal rows become one with a count."""
        rows = [row for row in self._refused if row["table"] == table.name]
        made = prices.refused(
            pl.LazyFrame(rows, schema=REFUSED), table=pl.col("table"), row=pl.col("line")
        )
        return prices.merge_refused([made.collect()])

    def _settled(self) -> list[Row]:
        """Return one row of each key, and refuse rows that contradict each other.

        A row at 0 does not contradict a price: vendors list 0 where they have none.
        """
        keyed: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in self._rows[Prices]:
            keyed[tuple(row.get(name, DEFAULTS.get(name)) for name in PRICE_KEY)].append(row)
        settled = []
        for rows in keyed.values():
            priced = {row["hourly"]: row for row in reversed(rows) if row["hourly"] is not None}
            if len(priced) > 1:
                problem = f"{rows[0]['instance_type']} is listed at {len(priced)} prices"
                for row in priced.values():
                    self._contradict(row, RefusedItemError("duplicate_key", problem))
                continue
            settled.append(next(iter(priced.values()), rows[0]))
            if priced and any(row["hourly"] is None for row in rows):
                problem = f"{rows[0]['instance_type']} is listed at 0 and at a price"
                zero = next(row for row in rows if row["hourly"] is None)
                self._contradict(zero, RefusedItemError("zero_price", problem))
        return settled

    def _contradict(self, row: Row, refusal: RefusedItemError) -> None:
        origin = {name: row[name] for name in ORIGIN}
        line = {name: value for name, value in row.items() if name not in (*origin, "parts")}
        self._refuse(refusal, Prices, row["region"], line, origin)

    def _refuse(
        self,
        refusal: RefusedItemError,
        table: Table,
        region: str | None,
        line: Mapping[str, Any],
        origin: Row,
    ) -> None:
        self._refused.append(
            {
                "provider": self.provider,
                "region": region,
                "table": table.name,
                "reason": refusal.reason,
                "message": refusal.message,
                "word": refusal.word,
                "line": json.dumps(line, default=str),
                **origin,
            }
        )


def _distinct(rows: list[Row]) -> list[Row]:
    by_content = {
        json.dumps([(n, v) for n, v in row.items() if n not in ORIGIN], default=str): row
        for row in reversed(rows)
    }
    return list(by_content.values())[::-1]


def _origin(page: Page) -> Row:
    return dict(zip(ORIGIN, (page.retrieved_at, page.url, page.sha256), strict=True))


LARGEST = {
    "vcpus": 100_000,
    "vcpus_billed": 100_000,
    "physical_cores": 100_000,
    "threads_per_core": 1_000,
    "memory_gib": 2_000_000,
    "local_disk_gib": 20_000_000,
    "local_disk_count": 10_000,
    "accelerator_count": 100_000,
    "block_storage_gbps_baseline": 20_000,
    "block_storage_gbps_max": 20_000,
    "block_storage_iops_baseline": 400_000_000,
    "block_storage_iops_max": 400_000_000,
    "local_disk_read_iops": 400_000_000,
    "local_disk_write_iops": 400_000_000,
}
"""At least fifty times what the largest machine has: 1,920 vCPUs and 32 TiB of memory (Google
Cloud's x4-megamem-1920-metal), 336 TB of disk in 24 (AWS d3en.12xlarge), 300 Gbit/s to block
storage (AWS m8gb.48xlarge), 8,000,000 reads of local disks in a second (Azure's
Standard_HB368rs_v5)."""

LONGEST = 40  # Characters of a figure that the quarantine row shows


def split_possible(
    rows: Iterable[tuple[dict[str, Any], Page]],
) -> tuple[list[tuple[dict[str, Any], Page]], pl.DataFrame]:
    """Split rows of instance_types, each with its page, into possible and impossible machines.

    Returns:
        the possible rows with their pages, and quarantine rows of the others.
    """
    possible: list[tuple[dict[str, Any], Page]] = []
    refused = [frames.empty(Quarantine)]
    for row, page in rows:
        if is_impossible(row):
            refused.append(_refused_row(row, page))
        else:
            possible.append((row, page))
    return possible, pl.concat(refused)


def is_impossible(row: Mapping[str, Any]) -> bool:
    """Check whether a row of instance_types has a figure that no machine has.

    Its accelerators are in the list ``accelerators``. Unknown figures are possible.
    """
    devices = [device["count"] or 0 for device in row.get("accelerators") or ()]
    figures = {**row, "accelerator_count": sum(devices)}
    return not all(0 <= (figures.get(name) or 0) <= most for name, most in LARGEST.items())


def _refused_row(row: Mapping[str, Any], page: Page) -> pl.DataFrame:
    """Make the quarantine row of a row of instance_types, whose figures may not fit any column."""
    shown = {"accelerators": row["accelerators"], **{name: row.get(name) for name in LARGEST}}
    figures = {name: str(figure)[:LONGEST] for name, figure in shown.items() if figure}
    names = {name: row[name] for name in ("provider", "instance_type")}
    return refuse_impossible(pl.LazyFrame([{**names, **figures}]).with_columns(*origin(page)))


def is_possible() -> pl.Expr:
    """Check that all columns of LARGEST are possible."""
    return pl.all_horizontal(
        pl.col(name).is_between(0, most).fill_null(True) for name, most in LARGEST.items()
    )


def refuse_impossible(rows: pl.LazyFrame) -> pl.DataFrame:
    """Make quarantine rows of impossible machines; see ``prices.refused`` for ``rows``."""
    return prices.refused(
        rows,
        table="instance_types",
        reason="impossible_figure",
        message=prices.message("{} has a figure that no machine has", "instance_type"),
    ).collect()


NO_ACCELERATORS: Final[Mapping[str, Any]] = {"accelerators": [], "accelerator_kind": "none"}


def gpus(
    name: str | None, sheet: Match | None, count: float | None, memory_gib: float | None
) -> dict[str, Any]:
    """Make the columns of a machine with GPUs of one type.

    ``name``: the vendor's name of the GPU. ``sheet``: its spec sheet by that name, None if it has
    none. ``count``: a fraction for a shared GPU. ``memory_gib``: of a complete GPU.
    """
    device = {
        "accelerator_id": sheet.accelerator_id if sheet else None,
        "vendor_name": name,
        "count": count,
        "memory_gib": memory_gib,
    }
    return {"accelerators": [device], "accelerator_kind": "gpu"}


def accelerator_totals() -> list[pl.Expr]:
    """Compute accelerator_count and accelerator_memory_gib from the list column ``accelerators``.

    The count is 0 for a machine without accelerators, and null if the count of any accelerator is
    unknown. The memory is null for a machine without accelerators, and if the count or memory of
    any accelerator is unknown.
    """
    devices = pl.col("accelerators")
    count, memory = pl.element().struct.field("count"), pl.element().struct.field("memory_gib")
    counts, memories = devices.list.eval(count), devices.list.eval(count * memory)
    all_measured = ~_has_null(memories) & (devices.list.len() > 0)
    return [
        # abs() turns the -0.0 of an empty sum into 0.0
        pl.when(~_has_null(counts)).then(counts.list.sum().abs()).alias("accelerator_count"),
        pl.when(all_measured).then(memories.list.sum()).alias("accelerator_memory_gib"),
    ]


def _has_null(values: pl.Expr) -> pl.Expr:
    return values.list.eval(pl.element().is_null()).list.any()
