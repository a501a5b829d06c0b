"""Make tables and quarantine rows from the items of a vendor's JSON, one item at a time."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import polars as pl

from hwprices.landing.bodies import PARSER_FAILURES, RefusedItemError
from hwprices.landing.pages import Page
from hwprices.rows import accelerators, frames, prices
from hwprices.rows.accelerators import accelerator_totals
from hwprices.rows.frames import ORIGIN
from hwprices.rows.prices import DEFAULTS, price_rows
from hwprices.schemas import PRICE_KEY
from hwprices.schemas.columns import Table, table_name
from hwprices.schemas.inventory import InstanceTypes
from hwprices.schemas.price import PriceComponents, Prices
from hwprices.units import Timestamp

Row = dict[str, Any]

REFUSED: Mapping[str, Any] = {
    **dict.fromkeys(("provider", "region", "table", "reason", "message", "word"), pl.String),
    **{"line": pl.String, "observed_at": Timestamp, "source_url": pl.String},
    "raw_sha256": pl.String,
}


class VendorRows:
    """The rows of one provider. An item that is not understood is quarantined, the others stay.

    ``counts`` are items left out on purpose, by reason. ``named_by`` are members that name an item
    in messages.
    """

    def __init__(self, provider: str, *named_by: str) -> None:
        self.provider = provider
        self.named_by = named_by
        self.counts: Counter[str] = Counter()
        self._rows: defaultdict[type[Table], list[Row]] = defaultdict(list)
        self._refused: list[Row] = []
        self._parts: list[Row] = []

    @contextmanager
    def reading(
        self, page: Page, item: Any, table: type[Table] = Prices, region: str | None = None
    ) -> Iterator[None]:
        """Quarantine the item if the block, which reads it, cannot."""
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
        table: type[Table] = Prices,
        region: str | None = None,
    ) -> None:
        """Quarantine an item, whole and with the page it is from."""
        line = item if isinstance(item, Mapping) else {"item": item}
        name = next((f"{line[name]}: " for name in self.named_by if name in line), "")
        refusal = RefusedItemError(refusal.reason, name + refusal.message, refusal.word)
        self._refuse(refusal, table, region, line, _origin(page))

    def add(self, model: type[Table], page: Page, row: Row) -> None:
        """Add a row of a table; columns that it lacks are null, or the defaults of a price.

        A price may have ``parts``: rows of price_components without the columns they share with it.

        Raises:
            RefusedItemError: a row of instance_types has a figure that no machine has.
        """
        if model is InstanceTypes and accelerators.is_impossible(row):
            raise RefusedItemError("impossible_figure", "no machine has such a figure")
        self._rows[model].append({"provider": self.provider} | _origin(page) | row)

    def table(self, model: type[Table]) -> pl.DataFrame:
        """Make a table of its rows. Rows that are the same but for their page become one."""
        dtypes = frames.dtypes(model)
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
        """Make the table of prices. Of rows with one key at two prices none is published."""
        rows = self._settled()
        if not rows:
            return frames.empty(Prices)
        dtypes = frames.dtypes(Prices)
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

    def refused(self, table: type[Table]) -> pl.DataFrame:
        """Make the quarantine rows of what was meant for a table; equal ones are counted."""
        rows = [row for row in self._refused if row["table"] == table_name(table)]
        made = prices.refused(
            pl.LazyFrame(rows, schema=REFUSED), table=pl.col("table"), row=pl.col("line")
        )
        return prices.merge_refused([made.collect()])

    def _settled(self) -> list[Row]:
        """Return one row of each key, and refuse those that contradict each other.

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
        table: type[Table],
        region: str | None,
        line: Mapping[str, Any],
        origin: Row,
    ) -> None:
        self._refused.append(
            {
                "provider": self.provider,
                "region": region,
                "table": table_name(table),
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
