"""Read the pages of the release before with today's program, to tell our part of a difference."""

from dataclasses import dataclass

import polars as pl

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing
from hwprices.publish.history import changes
from hwprices.publish.history.snapshot import VALUE
from hwprices.rows import frames
from hwprices.schemas.inventory import InstanceTypes
from hwprices.schemas.price import Prices
from hwprices.stage import stage
from hwprices.storage import layout
from hwprices.storage.scratch import scratch_directory
from hwprices.storage.store import Store


@dataclass(frozen=True)
class ReRead:
    """What the newer reading makes of the older pages.

    ``prices``: price_id and VALUE. ``figures``: instance_type, field and value. ``problem``: why
    the pages could not be read again; then there are no rows.
    """

    prices: pl.DataFrame | None = None
    figures: pl.DataFrame | None = None
    problem: str = ""


def re_read(store: Store, provider: str, run_id: str) -> ReRead:
    """Normalise and check the landed pages of an older run again, in a folder of its own.

    The pages may be gone, or today's program may refuse them: that is no error here.
    """
    landing = Landing(layout.landing_root(store.root))
    try:
        run = landing.run(provider, run_id)
        with scratch_directory() as folder:
            scratch = Store(folder)
            staged = stage.stage(providers.get(provider), run, landing, scratch, keep=1)
            prices = _table(scratch, staged, Prices.Config.name)
            types = _table(scratch, staged, InstanceTypes.Config.name)
    except HwpricesError as error:
        return ReRead(problem=error.message)
    return ReRead(prices.select("price_id", *VALUE), changes.figures(types))


def _table(store: Store, staged: stage.Staged, table: str) -> pl.DataFrame:
    files = [store.uri(f"{staged.directory}/{file.key}") for file in staged.of(table)]
    if not files:
        return frames.empty({"prices": Prices, "instance_types": InstanceTypes}[table])
    return pl.scan_parquet(files, hive_partitioning=False).collect()


def from_changes(changes: pl.DataFrame, provider: str) -> ReRead:
    """Take what was read again from the changes of the release that it was done for.

    So a history can be made again when the pages are gone, and the program has changed since.
    """
    rows = changes.filter(provider=provider, evidence="re_read")
    return ReRead(
        _middle(
            rows.filter(subject="price"), ["price_id"], VALUE, ["effective_hourly", "price_reason"]
        ),
        _middle(rows.filter(subject="instance_type"), ["instance_type", "field"], ["value"], []),
    )


def _middle(
    rows: pl.DataFrame, key: list[str], values: "tuple[str, ...] | list[str]", one_of: list[str]
) -> pl.DataFrame | None:
    """Find the middle value: the new one of our step, else the old one of the vendor's.

    Rows of which none of the columns ``one_of`` has a value were not there.
    """
    if rows.is_empty():
        return None
    is_ours = pl.col("change") == "restated"
    middle = rows.with_columns(
        pl.when(is_ours).then(f"new_{name}").otherwise(f"old_{name}").alias(name) for name in values
    )
    first = middle.sort(~is_ours, maintain_order=True).unique(
        key, keep="first", maintain_order=True
    )
    there = [pl.col(name).is_not_null() for name in one_of] or [pl.lit(True)]
    return first.filter(pl.any_horizontal(there)).select(*key, *values)
