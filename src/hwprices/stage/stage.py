"""One provider's landed pages into checked tables: normalise, correct, split, write; then point at them.

Staged files lie in ``staged/<provider>/<run_id>/`` under the keys they will have in a release, so publishing copies them as
they are. ``staged/<provider>/latest.json`` is written last: what was staged before stays until this is whole.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import polars as pl

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.pages import Landing, Run
from hwprices.providers import Pages, Part, Provider
from hwprices.rows import parquet, quarantine
from hwprices.rows.parquet import TableFile
from hwprices.schemas.tables import TABLES
from hwprices.settings import Settings
from hwprices.stage import corrections, validate
from hwprices.storage.store import Store

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Staged:
    """The manifest of one provider's staged tables."""

    provider: str
    run_id: str
    origin: str
    files: tuple[TableFile, ...]
    quarantined: Mapping[str, int] = field(default_factory=dict)  # reason → rows
    accounted: Mapping[str, int] = field(
        default_factory=dict
    )  # vendor rows that are not ours, by what they are
    units: Mapping[str, int] = field(default_factory=dict)  # status → units
    troubles: tuple[
        Mapping[str, str], ...
    ] = ()  # units that were not fetched anew: unit, status, reason

    @property
    def directory(self) -> str:
        return f"staged/{self.provider}/{self.run_id}"

    def of(self, table: str) -> list[TableFile]:
        return [f for f in self.files if f.table == table]

    def rows(self, table: str) -> int:
        return sum(f.rows for f in self.of(table))


def stage(
    provider: Provider,
    run: Run,
    landing: Landing,
    store: Store,
    *,
    keep: int,
    progress: Progress = lambda _: None,
) -> Staged:
    """Turn a run's landed pages into staged tables.

    Raises:
        HwpricesError: a landed page is altered, too much was refused, or the root cannot be written. What was staged before
            stays in force.
    """
    directory = f"staged/{provider.name}/{run.run_id}"
    sources = {page.sha256: page.url for result in run.results for page in result.pages}
    fixes = corrections.load(provider.name)
    files: list[TableFile] = []
    refused: list[pl.DataFrame] = []
    accounted: Counter[str] = Counter()
    good_rows: Counter[str] = Counter()
    known = 0  # prices with a number; a table of nulls is no price list
    for part in provider.normalise(Pages(run, landing)):
        progress(f"{part.table} {part.region or ''}".strip())
        accounted.update(part.counts)
        outcome = _check(part, provider.name, fixes, sources)
        refused += [f for f in (part.refused, outcome.refused) if f is not None and f.height]
        good_rows[part.table] += outcome.good.height
        known += outcome.good["effective_hourly"].count() if part.table == "prices" else 0
        if outcome.good.height:
            files.append(
                parquet.write(
                    store,
                    directory,
                    parquet.file_key(part.table, provider.name, part.region),
                    part.table,
                    outcome.good,
                )
            )
    refused_rows = quarantine.merge_refused(refused)
    if (
        refused_rows.height
    ):  # written before it is judged: a run that is refused stays to be looked at
        files.append(
            parquet.write(
                store,
                directory,
                parquet.file_key("quarantine", provider.name),
                "quarantine",
                refused_rows,
            )
        )
    _check_refused(provider.name, refused_rows, good_rows)
    if not known:
        raise _no_price(run)
    staged = Staged(
        provider=provider.name,
        run_id=run.run_id,
        origin=run.origin,
        files=tuple(sorted(files, key=lambda f: f.key)),
        quarantined=_by_reason(refused_rows),
        accounted=dict(sorted(accounted.items())),
        units=dict(sorted(Counter(r.status for r in run.results).items())),
        troubles=tuple(
            {"unit": r.unit.name, "status": r.status, "reason": r.reason}
            for r in run.results
            if r.status != "ok"
        ),
    )
    _point(store, staged)
    prune(store, provider.name, keep)
    return staged


def stage_run(settings: Settings, run: Run, progress: Progress = lambda _: None) -> Staged:
    """Stage a recorded run with its provider, below the root of the settings. See ``stage``."""
    root = Store(settings.root)
    landing = Landing(Store(f"{settings.root.rstrip('/')}/raw"))
    return stage(
        providers.get(run.provider), run, landing, root, keep=settings.keep_runs, progress=progress
    )


def latest(store: Store, provider: str) -> Staged | None:
    """The staged tables in force, or None.

    Raises:
        HwpricesError: the pointer or the manifest is damaged.
    """
    key = f"staged/{provider}/latest.json"
    data = store.get(key)
    if data is None:
        return None
    try:
        raw = json.loads(data)
        return Staged(
            **{
                **raw,
                "files": tuple(TableFile(**f) for f in raw["files"]),
                "troubles": tuple(raw["troubles"]),
            }
        )
    except (ValueError, KeyError, TypeError) as error:
        raise HwpricesError(
            f"{store.uri(key)} is damaged ({error!r})", "Delete it and collect again."
        ) from None


def prune(store: Store, provider: str, keep: int) -> None:
    """Delete staged runs but the newest ``keep``, and what a killed run left."""
    keys = [k for k in store.keys(f"staged/{provider}") if len(Path(k).parts) > 3]
    runs = sorted({Path(k).parts[2] for k in keys})
    for key in keys:
        if Path(key).parts[2] in runs[:-keep]:
            store.delete(key)


def _check(
    part: Part, provider: str, fixes: list[corrections.Correction], sources: Mapping[str, str]
) -> validate.Split:
    frame = (
        part.frame.collect(engine="streaming")
        if isinstance(part.frame, pl.LazyFrame)
        else part.frame
    )
    if part.table == "instance_types":
        frame = corrections.apply(frame, provider, fixes)
    return validate.split(frame, TABLES[part.table], sources)


def _check_refused(provider: str, quarantine: pl.DataFrame, good_rows: Mapping[str, int]) -> None:
    for table, refused in (
        quarantine.group_by("table").agg(pl.col("occurrences").sum()).sort("table").iter_rows()
    ):
        share = validate.refused_share(good_rows.get(table, 0), refused)
        if share > validate.MAX_REFUSED_SHARE:
            reasons = (
                quarantine.filter(pl.col("table") == table)
                .group_by("reason")
                .agg(pl.col("occurrences").sum())
                .sort("occurrences", descending=True)
            )
            worst = ", ".join(f"{reason} {count}" for reason, count in reasons.head(3).iter_rows())
            raise HwpricesError(
                f"{provider}: {share:.1%} of the rows for {table} were refused ({worst}); the limit is {validate.MAX_REFUSED_SHARE:.0%}",
                "The vendor has probably changed its format; the last good data stays published.",
            )


def _no_price(run: Run) -> HwpricesError:
    failed = next((r for r in run.results if r.status == "failed"), None)
    why = f": {failed.unit.name} failed: {failed.reason}" if failed else ""
    return HwpricesError(
        f"{run.provider}: not one price is known in run {run.run_id}{why}",
        "What is published stays.",
    )


def _by_reason(quarantine: pl.DataFrame) -> dict[str, int]:
    return dict(
        quarantine.group_by("reason").agg(pl.col("occurrences").sum()).sort("reason").iter_rows()
    )


def _point(store: Store, staged: Staged) -> None:
    text = json.dumps(asdict(staged), indent=1).encode() + b"\n"
    store.put(f"{staged.directory}/manifest.json", text)
    store.put(f"staged/{staged.provider}/latest.json", text)
