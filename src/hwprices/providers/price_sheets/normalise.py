"""Read landed price sheets into tables. Pure: no network, no clock."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page
from hwprices.providers import Pages, Part, UnreadablePageError
from hwprices.providers.price_sheets.fetch import SHEET, Sheet, SheetLine, SheetProblem, parse
from hwprices.rows import frames, prices
from hwprices.rows.frames import ORIGIN, origin
from hwprices.rows.prices import price_rows
from hwprices.rows.vendor_rows import accelerator_totals
from hwprices.schemas.columns import Accelerators
from hwprices.schemas.tables import (
    InstanceTypes,
    PriceComponents,
    Prices,
    Quarantine,
    Regions,
    Table,
)
from hwprices.specs.accelerator_names import Matcher, accelerator_matcher
from hwprices.units import Money

ANYWHERE = "global"  # The region of a sheet whose page names none
PER_GPU_RATE = "per_gpu_rate"


def normalise(pages: Pages) -> Iterator[Part]:
    """Yield regions, machines, prices and price components."""
    provider = pages.run.provider
    match = accelerator_matcher(provider)
    sheets: list[tuple[Page, Sheet]] = []
    for page in pages.of(SHEET):
        with pages.leave_out(page):
            sheets.append((page, _parse(page, pages.read(page))))
    yield Part("regions", _unique(_frame(sheets, _region, {}), "region", Regions, provider))
    dtypes = {"accelerators": Accelerators, "corrections": pl.List(pl.String)}
    machines = _frame(sheets, lambda line: _machine(line, match), dtypes)
    if not machines.is_empty():
        machines = machines.with_columns(accelerator_totals())
    yield Part("instance_types", _unique(machines, "instance_type", InstanceTypes, provider))
    prices = _prices(sheets)
    rows = price_rows(prices.lazy(), provider=provider).collect()
    components = _components(rows, prices)
    yield Part("prices", rows, refused=_refused(sheets, provider))
    if components.height:
        yield Part("price_components", components)


def _parse(page: Page, content: bytes) -> Sheet:
    try:
        return parse(content)
    except HwpricesError as error:
        raise UnreadablePageError(page, error.message) from error


def _frame(
    sheets: Sequence[tuple[Page, Sheet]],
    row: Callable[[SheetLine], dict[str, Any]],
    dtypes: dict[str, Any],
) -> pl.DataFrame:
    """Make a row of each line, with the columns of ``frames.origin``; no columns without lines."""
    tables = [
        pl.DataFrame(
            [row(line) for line in sheet.lines], schema_overrides=dtypes, infer_schema_length=None
        ).with_columns(origin(page))
        for page, sheet in sheets
        if sheet.lines
    ]
    return pl.concat(tables, how="diagonal_relaxed") if tables else pl.DataFrame()


def _unique(frame: pl.DataFrame, key: str, model: Table, provider: str) -> pl.DataFrame:
    """Make the rows of a table. Lines with the same key agree, so the first one is kept."""
    if frame.is_empty():
        return frames.empty(model)
    rows = frame.lazy().unique(key, keep="first", maintain_order=True)
    complete = rows.with_columns(provider=pl.lit(provider)).drop("source_url")
    return frames.conform(complete, model).collect()


def _region(line: SheetLine) -> dict[str, Any]:
    return {
        "region": line.region,
        "display_name": line.page_region or None,
        "kind": "anywhere" if line.region == ANYWHERE else "region",
    }


def _machine(line: SheetLine, match: Matcher) -> dict[str, Any]:
    return {
        "instance_type": line.instance_type,
        "family": line.page_label,
        "vcpus": line.vcpus,
        "memory_gib": line.memory_gib,
        "local_disk_gib": line.local_disk_gib,
        "accelerators": [_accelerator(line, match)],
        "accelerator_kind": "gpu",
        "spec_source": "price_list",
        "corrections": [],
    }


def _accelerator(line: SheetLine, match: Matcher) -> dict[str, Any]:
    """Describe the GPUs of a machine; the id is null if accelerator_names has no rule."""
    sheet = match(line.page_label, line.instance_type)
    memory = line.gpu_memory_gb or (sheet.memory_gib if sheet else None)
    return {
        "accelerator_id": sheet.accelerator_id if sheet else None,
        "vendor_name": line.page_label,
        "count": float(line.gpus or 1),
        "memory_gib": memory,
    }


PRICE_COLUMNS: dict[str, Any] = {
    "region": pl.String,
    "instance_type": pl.String,
    "purchase_option": pl.String,
    "currency": pl.String,
    "hourly": Money,
    "price_reason": pl.String,
    "basis": pl.String,
    "flags": pl.List(pl.String),
    "sku_id": pl.String,
    "gpus": pl.Int32,
    "per_gpu": Money,
}


def _price(line: SheetLine) -> dict[str, Any]:
    """Price one machine: as listed, or composed of the price per GPU."""
    is_composed = line.unit == "gpu" and line.gpus is not None and line.price is not None
    is_rate = line.unit == "gpu" and line.gpus is None
    count = line.gpus if is_composed and line.gpus else 1
    return {
        "region": line.region,
        "instance_type": line.instance_type,
        "purchase_option": line.purchase_option,
        "currency": line.currency,
        "hourly": None if line.price is None else line.price * Decimal(count),
        "price_reason": line.price_reason,
        "basis": "composed" if is_composed else "listed",
        "flags": [PER_GPU_RATE] if is_rate else [],
        "sku_id": line.id,
        "gpus": count,
        "per_gpu": line.price,
    }


def _prices(sheets: Sequence[tuple[Page, Sheet]]) -> pl.DataFrame:
    """Make the columns of PRICE_COLUMNS and of ``frames.origin``."""
    frame = _frame(sheets, _price, PRICE_COLUMNS)
    if not frame.is_empty():
        return frame
    origins = {name: dtype for name, dtype in Prices.dtypes.items() if name in ORIGIN}
    return pl.DataFrame(schema={**PRICE_COLUMNS, **origins})


def _components(rows: pl.DataFrame, prices: pl.DataFrame) -> pl.DataFrame:
    """Make the components of the composed prices: the price per GPU, and the number of GPUs."""
    composed = rows.filter(pl.col("basis") == "composed")
    key = ["region", "instance_type", "purchase_option", "currency"]
    rates = prices.select(*key, "gpus", unit_price="per_gpu").unique(key)
    parts = composed.join(rates, on=key, how="left").with_columns(
        component=pl.lit("gpu"), unit=pl.lit("gpu"), quantity="gpus"
    )
    columns = [name for name in PriceComponents.dtypes if name in parts.columns]
    return frames.conform(parts.lazy().select(columns), PriceComponents).collect()


def _refused(sheets: Sequence[tuple[Page, Sheet]], provider: str) -> pl.DataFrame:
    """Make quarantine rows of the lines that the reader refused."""
    refused = [
        _refused_row(problem, page, provider)
        for page, sheet in sheets
        for problem in sheet.problems
    ]
    return pl.concat([frames.empty(Quarantine), *refused])


def _refused_row(problem: SheetProblem, page: Page, provider: str) -> pl.DataFrame:
    cells = pl.LazyFrame([{**problem.cells, "line": problem.number}])
    frame = cells.with_columns(pl.lit(provider).alias("provider"), *origin(page))
    return prices.refused(
        frame,
        table="prices",
        reason=problem.reason,
        message=str(problem),
        word=None if problem.word is None else pl.lit(problem.word),
    ).collect()
