"""Write index.html: the explorer with script, style and figures in one file."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from hwprices import formulas
from hwprices.read.device import measured
from hwprices.read.find.search import ANY, USUAL, Search, machine_types, price_conditions
from hwprices.read.find.words import MONTHS
from hwprices.read.ownership import DEFAULTS
from hwprices.read.past import mark_placeholders
from hwprices.read.recommend.model_shape import model_shape
from hwprices.read.recommend.question import Question
from hwprices.read.recommend.recommend import recommend
from hwprices.read.report import columns, files
from hwprices.read.report.columns import grammar
from hwprices.read.report.files import bundled, render
from hwprices.read.report.pages import Machines
from hwprices.read.status import provider_title
from hwprices.release import notes as release_notes
from hwprices.release.release import PRIVATE_HOSTS, REAL, Release, Tables

ROW_ORDER = ("provider", "instance_type", "region")
"""Order in which neighboring rows are similar, so that gzip compresses them well."""


def index(dataset: Release, offers: pl.DataFrame, machines: Machines = "all") -> str:
    """Return index.html of a release; ``machines``: the machine types with a page."""
    return render(
        "index.html",
        script=bundled("page.js"),
        style=bundled("page.css"),
        data=packed(dataset, offers, machines),
        release=dataset.manifest,
    )


def packed(dataset: Release, offers: pl.DataFrame, machines: Machines) -> str:
    """Return the figures of a release as a payload for the page."""
    names = columns.sent(offers)
    models, answered = answers(dataset)
    described = columns.describe(dataset, names, offers.schema)
    payload = files.Payload(
        facts={
            "about": about(dataset, offers),
            "machine_pages": machines,
            "changes": changes(dataset),
            "columns": described,
            "accelerators": accelerators(dataset),
            "accelerator_columns": columns.descriptions(dataset, "accelerators"),
            "benchmarks": benchmarks(dataset, offers),
            "machines_to_buy": files.rows(dataset.scan("local_hardware").collect()),
            "ownership": {name: getattr(DEFAULTS, name) for name in OWNERSHIP},
            "recommend": models,
            "private_hosts": PRIVATE_HOSTS,
            "regions": regions(dataset),
            "grammar": grammar(dataset),
        }
    )
    lists = pl.selectors.list()
    derived = derived_columns(dataset, offers)
    systems = system_columns(dataset, offers)
    table = offers.select(*names, *derived, *systems).sort(ROW_ORDER)
    payload.add_table("offers", table.with_columns(lists.list.join(", ")))
    payload.add_table("answers", answered)
    intervals = history(dataset)
    if intervals.height:
        payload.add_table("history", intervals)
    return payload.packed()


OWNERSHIP = ("lifetime_years", "utilisation", "usd_per_kwh", "pue")
"""Assumptions about owned machines that the page shows."""

NO_ACCELERATOR = "no accelerator"


def derived_columns(dataset: Release, offers: pl.DataFrame) -> list[pl.Series]:
    """Return further columns for the filters of the page, in the order of the offers.

    ``device``: the accelerator's name in its spec sheet, else the vendor's name; NO_ACCELERATOR for
    a machine without accelerators, null for a machine that is not described. ``continent``: of the
    region. ``gpu_gib``: the memory of all accelerators; ``accelerator_gib``: of one accelerator,
    both from the spec sheet if the vendor does not state them.
    """
    devices = pl.col("accelerators").list
    vendor_name = (
        pl.when(devices.len() > 1)
        .then(pl.lit("several kinds"))
        .otherwise(devices.first().struct.field("vendor_name"))
    )
    types = machine_types(dataset).select(
        *("provider", "instance_type", "accelerator_gib"),
        gpu_gib="accelerator_memory_gib",
        vendor_name=vendor_name,
    )
    places = dataset.scan("regions").select("provider", "region", "continent")
    kind = pl.col("accelerator_kind")
    joined = (
        offers.lazy()
        .join(types, on=["provider", "instance_type"], how="left", maintain_order="left")
        .join(places, on=["provider", "region"], how="left", maintain_order="left")
        .select(
            pl.when(kind == "none")
            .then(pl.lit(NO_ACCELERATOR))
            .when(kind.is_not_null())
            .then(pl.coalesce("accelerator_name", "vendor_name", pl.lit("not identified")))
            .alias("device"),
            *("continent", "gpu_gib", "accelerator_gib"),
        )
        .collect()
    )
    return joined.get_columns()


def system_columns(dataset: Release, offers: pl.DataFrame) -> list[pl.Series]:
    """Return the prices of operating systems besides Linux, in the order of the offers.

    Names of columns are system and price: ``windows:best_1y_usd_per_hour``. They have the cheapest
    price, like the columns of Linux. ``windows:on_demand_hourly`` is in the offer's currency.
    """
    option, term, usd = (
        pl.col("purchase_option"),
        pl.col("term_months"),
        pl.col("currency") == "USD",
    )
    amounts = {
        "on_demand_hourly": option == "on_demand",
        "on_demand_usd_per_hour": usd & (option == "on_demand"),
        "spot_usd_per_hour": usd & (option == "spot"),
        "best_1y_usd_per_hour": usd & (term == MONTHS),
        "best_3y_usd_per_hour": usd & (term == 3 * MONTHS),
    }
    key = ["provider", "region", "instance_type"]
    others = Search(os=ANY)
    found = (
        dataset.scan("prices")
        .filter(*price_conditions(others), *REAL, pl.col("os") != "linux")
        .join(offers.lazy().select(*key, "currency"), on=[*key, "currency"], how="semi")
        .group_by(*key, "os")
        .agg(
            pl.col("effective_hourly").filter(is_meant).min().alias(name)
            for name, is_meant in amounts.items()
        )
        .collect(engine="streaming")
    )
    columns: list[pl.Series] = []
    for (system,), group in sorted(found.partition_by("os", as_dict=True).items()):
        aligned = offers.select(key).join(group, on=key, how="left", maintain_order="left")
        filled = [aligned[name] for name in amounts if aligned[name].count()]
        columns += [series.alias(f"{system}:{series.name}") for series in filled]
    return columns


def regions(dataset: Release) -> list[Mapping[str, Any]]:
    """Return the regions with known coordinates, for the map."""
    names = ["provider", "region", "display_name", "country", "latitude", "longitude"]
    placed = dataset.scan("regions").select(names).drop_nulls(["latitude", "longitude"])
    return files.rows(placed.sort("provider", "region").collect())


def accelerators(dataset: Release) -> list[Mapping[str, Any]]:
    """Return the spec sheet of accelerators without columns that the page computes from offers."""
    sheet = dataset.scan("accelerators").collect()
    return files.rows(sheet.drop("regions", strict=False))


def benchmarks(dataset: Release, offers: pl.DataFrame) -> list[Mapping[str, Any]]:
    """Return the result that represents each accelerator, model and scenario, with its source.

    It is a result for the size of the cheapest machine with a price that depends on it.
    """
    wanted = ["accelerator_id", "scenario", "round", "per_accelerator", "unit", "accelerator_count"]
    lengths = ["input_tokens", "output_tokens"]
    results = measured.results_of_offers(dataset, offers)
    # results of 99.9 % accuracy also count for 99 %
    by_benchmark = results.with_columns(
        model="benchmark",
        scenario=pl.concat_str("scenario", "own_format", separator=", ", ignore_nulls=True),
    )
    return files.rows(
        by_benchmark.select("model", *wanted, *lengths, "system", "official", "source_url")
    )


RELEASE = ("version", "created_at", "schema_version", "code_version", "content_sha256")
PROVIDER = ("status", "kept_from", "origin", "observed_from", "observed_to")
"""Values of the manifest and of a provider in it."""


def about(dataset: Release, offers: pl.DataFrame) -> dict[str, Any]:
    """Describe the release and each provider in it, as JSON values."""
    manifest = dataset.manifest
    return {
        **{name: manifest[name] for name in RELEASE},
        "tables": {name: entry["rows"] for name, entry in manifest["tables"].items()},
        "providers": [_provider(dataset, offers, name) for name in manifest["providers"]],
        "unmatched_accelerators": manifest["unmatched_accelerators"],
        "citation": citation(dataset),
    }


def citation(dataset: Release) -> str:
    """Write a citation of the release."""
    version, digest = dataset.version, dataset.manifest["content_sha256"]
    return (
        f"hwprices: what AI and cloud hardware costs. Release {version},"
        f" content SHA-256 {digest[:16]}… CC BY 4.0."
    )


def _provider(dataset: Release, offers: pl.DataFrame, name: str) -> dict[str, Any]:
    entry = dataset.manifest["providers"][name]
    offers = offers.filter(provider=name)
    report = entry["report"]
    return {
        "id": name,
        "title": provider_title(dataset.release, name),
        **{value: entry[value] for value in PROVIDER},
        "offers": offers.height,
        "machines": offers["instance_type"].n_unique(),
        "regions": offers["region"].n_unique(),
        "regions_listed": entry["rows"].get("regions", 0),
        "currencies": offers["currency"].drop_nulls().unique().sort().to_list(),
        "no_on_demand_price": reasons(offers),
        "troubles": report["troubles"],
        "refused": report["quarantined"],
    }


def reasons(offers: pl.DataFrame) -> dict[str, int]:
    """Count the offers without an on-demand price, by the code of the reason."""
    counts = offers["on_demand_reason"].drop_nulls().value_counts()
    return dict(counts.sort("count", "on_demand_reason", descending=[True, False]).iter_rows())


MODELS = (
    *("llama-3.1-8b", "llama-3.3-70b", "llama-3.1-405b", "llama-4-scout", "llama-4-maverick"),
    *("qwen3-8b", "qwen3-32b", "qwen3-30b-a3b", "qwen3-235b-a22b", "qwen3-coder-480b-a35b"),
    *("gemma-3-27b", "mistral-small-24b", "phi-4", "gpt-oss-20b", "gpt-oss-120b"),
    *("deepseek-v3.2", "deepseek-v4-flash", "deepseek-v4-pro", "kimi-k2.5", "kimi-k3"),
    *("glm-4.6", "glm-5", "minimax-m2", "qwen3.5-35b-a3b", "qwen3.5-397b-a17b", "gemma-4-31b"),
)
"""Models on the page; each takes about 0.07 s of CPU time."""

YEARS_ON_SALE = 4
"""Years after its release in which a machine to buy is shown: a choice of this project."""

MAX_MACHINES = 15  # to rent, and as many to buy, in an answer

COLUMNS = [
    *("where", "rank", "provider", "region", "machine", "nodes", "total_accelerators"),
    *("accelerator_id", "precision", "basis", "measurement", "usd_per_hour"),
    *("usd_per_million_tokens_low", "usd_per_million_tokens", "usd_per_million_input_tokens"),
    *("usd_per_million_output_tokens", "tokens_per_second_low", "tokens_per_second_high"),
    *("concurrency", "tokens_per_second_per_user", "seconds_to_first_token"),
    *("gco2e_per_million_tokens", "purchase_price_usd", "purchase_price_date"),
    *("rent_usd_per_hour", "payback_hours"),
]


def answers(dataset: Tables) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """Return the models with their assumptions, and the first machines of each answer.

    The frame has model_id and COLUMNS.
    """
    models, frames = [], []
    discontinued = too_old_to_buy(dataset)
    for name in MODELS:
        frame = recommend(Question(name), dataset=dataset)
        first = frame.drop_nulls("rank").filter(
            pl.col("rank") <= MAX_MACHINES, ~pl.col("machine").is_in(discontinued)
        )
        frames.append(first.select(pl.lit(name).alias("model_id"), *COLUMNS))
        assumed = frame["assumed"].first() or ""
        models.append({"model_id": name, "name": model_shape(name).name, "assumed": assumed})
    return models, pl.concat(frames, how="vertical_relaxed")


def too_old_to_buy(dataset: Tables) -> list[str]:
    """List the machines to buy that are no longer on sale, by id."""
    is_old = pl.col("release_year") < pl.col("as_of").dt.year().max() - YEARS_ON_SALE
    local = dataset.scan("local_hardware").filter(is_old).select("device_id").collect()
    return local["device_id"].to_list()


MAX_INTERVALS = 20_000  # newest intervals on the page: about 150 kB
MAX_CHANGES = 100  # largest changes on the page; the table changes has all


def history(dataset: Release) -> pl.DataFrame:
    """Return the on-demand prices of machines with accelerators since the first release, in USD.

    One row for each interval of a price: provider, region, instance_type, accelerator_id, usd (of
    one accelerator per hour), valid_from, valid_to, start_reason. Placeholders are left out. Empty
    if the dataset has only one release.
    """
    count = pl.col("accelerator_count")
    rows = (
        mark_placeholders(dataset.scan("price_history"), dataset.scan("prices"))
        .filter(
            ~pl.col("placeholder"),
            pl.col("purchase_option") == "on_demand",
            pl.col("currency") == "USD",
            pl.col("accelerator_id").is_not_null() & (count > 0),
            pl.col("effective_hourly").is_not_null(),
            *price_conditions(USUAL),
        )
        .select(
            *("provider", "region", "instance_type", "accelerator_id"),
            formulas.divide(pl.col("effective_hourly"), count).round(6).alias("usd"),
            *("valid_from", "valid_to", "start_reason"),
        )
        .sort(pl.all())
        .sort("valid_from", descending=True, maintain_order=True)
        .head(MAX_INTERVALS)
        .collect()
    )
    return rows if rows["valid_from"].n_unique() > 1 else rows.clear()


def changes(dataset: Release) -> dict[str, Any]:
    """Return the changes since the previous release: sentences, and the largest price changes.

    Both are empty for the first release of a dataset.
    """
    if dataset.release.previous is None:
        return {"lines": [], "prices": []}
    notes = release_notes.read(dataset)
    prices = (
        dataset.scan("changes")
        .filter(pl.col("price_id").is_not_null(), pl.col("change_percent") != 0)
        .sort(-pl.col("change_percent").abs(), "price_id", nulls_last=True)
        .head(MAX_CHANGES)
        .select(
            *("change", "provider", "region", "instance_type", "os", "purchase_option"),
            *("term_months", "currency", "old_effective_hourly", "new_effective_hourly"),
            "change_percent",
        )
        .collect()
    )
    return {"lines": release_notes.lines(notes) if notes else [], "prices": files.rows(prices)}
