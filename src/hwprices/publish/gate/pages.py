"""Trace a sample of prices to the vendor's lines on their landed pages."""

import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from itertools import product

import polars as pl

from hwprices.errors import HwpricesError, TooLargeError
from hwprices.publish.gate import compare
from hwprices.publish.gate.candidate import PRICES, SUSPECT, Candidate
from hwprices.publish.gate.compare import is_among
from hwprices.release import landed
from hwprices.release.manifest import DIGEST_CHARACTERS
from hwprices.release.wording import plain
from hwprices.storage.store import Store
from hwprices.units import HOURS_PER_MONTH

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE]-?\d+)?")
# Google's money: https://cloud.google.com/billing/docs/reference/rest/v1/Money
NANOS = re.compile(r'(?:"units": "?(\d+)"?, )?"nanos": (\d+)')
UNITS = (1.0, 1e-8)  # of OVHcloud: https://eu.api.ovh.com/1.0/order/catalog

SOURCE = ("price_id", "basis", "raw_sha256", "sku_price_id", "sku_id", "term_months",
          "amounts")  # fmt: skip

FAILED, LEFT_OUT, FOUND = range(3)
LARGE, MISSING = "the pages are too large", "the page is missing"  # one page, or all of a provider
Result = tuple[str, int, str]
"""price_id, one of the above, reference."""


def trace(store: Store, candidate: Candidate) -> tuple[pl.DataFrame, str]:
    """Look for a sample of prices, another one each day, on their landed pages.

    A line must name the SKU and state the price, or the rate of each part of a composed price. Of a
    derived price only the SKU must be named. At most compare.TRACED_BYTES are read: the bulk lists
    of AWS's regions are larger.

    Returns:
        The prices that fail (columns of SUSPECT) and a sentence about the sample.
    """
    sample = _sample(candidate)
    keys = landed.page_keys(store, candidate.provider)
    results: list[Result] = []
    left = compare.TRACED_BYTES
    pages = _sources(sample, candidate).partition_by("raw_sha256", as_dict=True)
    for (sha256,), rows in sorted(pages.items()):
        data: bytes | str
        result, data = LEFT_OUT, MISSING
        if candidate.pages and sha256[:DIGEST_CHARACTERS] not in candidate.pages:
            result, data = FAILED, "its page is not one of the run"
        elif sha256 in keys:
            data = _read(store, keys[sha256], left)
        if isinstance(data, str):
            results += [(price_id, result, data) for price_id in rows["price_id"]]
        else:
            left -= len(data)
            results += _on_page(data, keys[sha256], rows)
    schema = {"price_id": pl.String, "result": pl.Int64, "reference": pl.String}
    found = pl.DataFrame(results, schema, orient="row")
    found = found.sort("result", maintain_order=True).unique("price_id", keep="first")
    left_out = found.filter(result=LEFT_OUT).group_by("reference").len().sort("reference")
    count = found.filter(result=FOUND).height
    text = f"{count} of {found.height} sampled prices were traced to the vendor's lines"
    text = "; ".join([text, *(f"not traced, {why}: {n}" for why, n in left_out.rows())])
    return sample.join(found.filter(result=FAILED), on="price_id").select(*SUSPECT), text


def _read(store: Store, key: str, most: int) -> bytes | str:
    """Read a page of at most ``most`` bytes, or return why it was not read."""
    try:
        data = store.get(key, most)
    except TooLargeError:
        return LARGE
    except HwpricesError:
        return "the page cannot be read"
    return MISSING if data is None else data


def _sample(candidate: Candidate) -> pl.DataFrame:
    """Choose prices of a few files by a hash of id and day."""
    day = candidate.seen.toordinal() if candidate.seen else 0
    files = [file.rows for file in candidate.price_files] or [candidate.table(PRICES)]
    order = pl.Series(range(len(files))).hash(day).arg_sort()[: compare.TRACED_FILES]
    count = -(-compare.TRACED // len(order))
    chosen = [files[number] for number in order]
    first = pl.col("price_id").bottom_k_by(pl.col("price_id").hash(day), count)
    priced = pl.col("effective_hourly").is_not_null()
    ids = pl.concat(file.filter(priced).select(first) for file in chosen)
    is_chosen = is_among("price_id", ids.collect(engine="streaming")["price_id"])
    rows = pl.concat(chosen).filter(is_chosen).select("region", "hourly", "upfront", *SOURCE[:-1])
    sample: pl.DataFrame = rows.collect(engine="streaming")
    return sample


def _sources(sample: pl.DataFrame, candidate: Candidate) -> pl.DataFrame:
    """List the SKUs of prices and the amounts that their lines must state: columns of SOURCE."""
    parts = candidate.table("price_components").filter(is_among("price_id", sample["price_id"]))
    composed = (
        parts.select("price_id", "raw_sha256", "sku_id", amounts=pl.concat_list("unit_price"))
        .collect(engine="streaming")
        .join(sample.select("price_id", "basis", "term_months"), on="price_id")
        .with_columns(sku_price_id=pl.lit(None, pl.String))
    )
    listed = sample.join(composed, on="price_id", how="anti")
    listed = listed.with_columns(amounts=pl.concat_list("hourly", "upfront"))
    return pl.concat([composed.select(SOURCE), listed.select(SOURCE)])


def _on_page(data: bytes, key: str, rows: pl.DataFrame) -> Iterator[Result]:
    content = cache(lambda: landed.content(data, key))  # unpacked once for all SKUs, if for any
    skus = pl.concat([rows["sku_id"], rows["sku_price_id"]]).drop_nulls()
    state, lines = landed.search(data, key, skus, compare.TRACED_CONTENT)
    for price_id, basis, _, sku_price_id, sku_id, months, amounts in rows.iter_rows():
        sku = sku_price_id or sku_id
        if state not in ("whole", "large"):
            yield price_id, FAILED, f"its page is {state}"
        elif sku is None or state == "large":
            yield price_id, LEFT_OUT, "no SKU" if sku is None else LARGE
        else:
            own = [line for name in (sku_price_id, sku_id) for line, _ in lines.get(name, ())]
            if not own:  # some providers name SKUs by several words of a page, or by a key of JSON
                own = [content()] if all(word in content() for word in sku.split()) else []
            stated = [amount for amount in amounts if amount] or [Decimal(0)]  # a part may be free
            if not own:
                yield price_id, FAILED, f"its page does not name {sku}"
            elif basis != "derived" and not _state("\n".join(own), stated, months):
                shown = " and ".join(map(plain, stated))
                yield price_id, FAILED, f"its page does not state {shown} for {sku}"
            else:
                yield price_id, FOUND, ""


def _state(lines: str, amounts: Sequence[Decimal], months: int) -> bool:
    """Return whether lines state one of the amounts, by the hour or for the term."""
    numbers = [float(number) for number in NUMBER.findall(lines)]
    numbers += [float(units or 0) + float(nanos) / 1e9 for units, nanos in NANOS.findall(lines)]
    units = (*UNITS, 1 / (months * HOURS_PER_MONTH)) if months else UNITS
    return any(
        math.isclose(number * unit, amount, rel_tol=compare.TRACED_TOLERANCE)
        for amount, number, unit in product(amounts, numbers, units)
    )
