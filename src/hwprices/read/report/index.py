"""Write index.html: the explorer with everything it needs inside, script, style and figures."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from hwprices.read.device import measured
from hwprices.read.find.search import ANY, Search, machine_types, of_prices
from hwprices.read.find.words import MONTHS
from hwprices.read.ownership import DEFAULTS
from hwprices.read.report import columns, payload
from hwprices.read.report.about import about
from hwprices.read.report.answers import answers
from hwprices.read.report.bundle import bundled
from hwprices.read.report.grammar import grammar
from hwprices.read.report.pages import Machines
from hwprices.read.report.past import changes, history
from hwprices.read.report.templates import render
from hwprices.release.real_prices import PRIVATE_HOSTS, REAL
from hwprices.release.release import Release

ROW_ORDER = ("provider", "instance_type", "region")
"""Rows of one machine type side by side: neighbours are alike, and gzip makes them small."""


def index(dataset: Release, offers: pl.DataFrame, machines: Machines = "all") -> str:
    """Return index.html of a release; ``machines`` says which machine types have a page."""
    return render(
        "index.html",
        script=bundled("page.js"),
        style=bundled("page.css"),
        data=packed(dataset, offers, machines),
        release=dataset.manifest,
    )


def packed(dataset: Release, offers: pl.DataFrame, machines: Machines) -> str:
    """Pack the figures of a release for the page."""
    names = columns.sent(offers)
    models, answered = answers(dataset)
    described = columns.describe(dataset, names, offers.schema)
    whole = payload.Payload(
        facts={
            "about": about(dataset, offers),
            "machine_pages": machines,
            "changes": changes(dataset),
            "columns": described,
            "accelerators": accelerators(dataset),
            "accelerator_columns": columns.descriptions(dataset, "accelerators"),
            "benchmarks": benchmarks(dataset, offers),
            "machines_to_buy": payload.rows(dataset.scan("local_hardware").collect()),
            "ownership": {
                "lifetime_years": DEFAULTS.lifetime_years,
                "utilisation": DEFAULTS.utilisation,
                "usd_per_kwh": DEFAULTS.usd_per_kwh,
                "pue": DEFAULTS.pue,
            },
            "recommend": models,
            "private_hosts": PRIVATE_HOSTS,
            "regions": regions(dataset),
            "grammar": grammar(dataset),
        }
    )
    lists = pl.selectors.list()
    derived = derived_columns(dataset, offers)
    of_systems = system_columns(dataset, offers)
    table = offers.select(*names, *derived, *of_systems).sort(ROW_ORDER)
    whole.add_table("offers", table.with_columns(lists.list.join(", ")))
    whole.add_table("answers", answered)
    intervals = history(dataset)
    if intervals.height:
        whole.add_table("history", intervals)
    return whole.packed()


NO_ACCELERATOR = "no accelerator"


def derived_columns(dataset: Release, offers: pl.DataFrame) -> list[pl.Series]:
    """Return columns that the page filters by, in the order of the offers.

    ``device`` is the accelerator's name: that of its sheet, else the vendor's; NO_ACCELERATOR for a
    machine without one, null for a machine that is not described. ``continent`` is the region's.
    ``gpu_gib`` is the memory of all accelerators and ``accelerator_gib`` of one, from the sheet
    where the vendor states none.
    """
    devices = pl.col("accelerators").list
    of_vendor = (
        pl.when(devices.len() > 1)
        .then(pl.lit("several kinds"))
        .otherwise(devices.first().struct.field("vendor_name"))
    )
    types = machine_types(dataset).select(
        *("provider", "instance_type", "accelerator_gib"),
        gpu_gib="accelerator_memory_gib",
        of_vendor=of_vendor,
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
            .then(pl.coalesce("accelerator_name", "of_vendor", pl.lit("not identified")))
            .alias("device"),
            *("continent", "gpu_gib", "accelerator_gib"),
        )
        .collect()
    )
    return joined.get_columns()


def system_columns(dataset: Release, offers: pl.DataFrame) -> list[pl.Series]:
    """Return the prices of operating systems besides Linux, in the order of the offers.

    A column is named after system and price: ``windows:best_1y_usd_per_hour``. The cheapest price
    counts, as in the columns of Linux; ``windows:on_demand_hourly`` is in the offer's currency.
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
        .filter(*of_prices(others), *REAL, pl.col("os") != "linux")
        .join(offers.lazy().select(*key, "currency"), on=[*key, "currency"], how="semi")
        .group_by(*key, "os")
        .agg(
            pl.col("effective_hourly").filter(is_meant).min().alias(name)
            for name, is_meant in amounts.items()
        )
        .collect(engine="streaming")
    )
    columns: list[pl.Series] = []
    for (system,), own in sorted(found.partition_by("os", as_dict=True).items()):
        aligned = offers.select(key).join(own, on=key, how="left", maintain_order="left")
        filled = [aligned[name] for name in amounts if aligned[name].count()]
        columns += [series.alias(f"{system}:{series.name}") for series in filled]
    return columns


def regions(dataset: Release) -> list[Mapping[str, Any]]:
    """Return where regions are, for the map. Some providers name no place."""
    names = ["provider", "region", "display_name", "country", "latitude", "longitude"]
    placed = dataset.scan("regions").select(names).drop_nulls(["latitude", "longitude"])
    return payload.rows(placed.sort("provider", "region").collect())


def accelerators(dataset: Release) -> list[Mapping[str, Any]]:
    """Return the sheet of accelerators without the columns that the page computes from offers."""
    sheet = dataset.scan("accelerators").collect()
    return payload.rows(sheet.drop("regions", strict=False))


def benchmarks(dataset: Release, offers: pl.DataFrame) -> list[Mapping[str, Any]]:
    """Return the result that represents each accelerator, model and scenario, with its source.

    Where ``offers`` have a price that is based on a measurement, it is of the size of the cheapest.
    """
    wanted = ["accelerator_id", "scenario", "round", "per_accelerator", "unit", "accelerator_count"]
    lengths = ["input_tokens", "output_tokens"]
    results = measured.results_of_offers(dataset, offers)
    # results of 99.9 % accuracy that count for 99 % are beside those of other accelerators
    of_benchmark = results.with_columns(
        model="benchmark",
        scenario=pl.concat_str("scenario", "own_format", separator=", ", ignore_nulls=True),
    )
    return payload.rows(
        of_benchmark.select("model", *wanted, *lengths, "system", "official", "source_url")
    )
