"""List machines that a job might run on, to rent and to buy."""

from dataclasses import replace

import polars as pl

from hwprices.formulas import first_of
from hwprices.read.currency import offers_in_usd
from hwprices.read.find import request
from hwprices.read.find import search as searching
from hwprices.read.find.names import ReleaseWords
from hwprices.read.find.search import EVERY_WAY, NO_ACCELERATOR, USUAL, Bounds, Search, pairs
from hwprices.read.overlays import apply, rules
from hwprices.read.ownership import Ownership, has_cpus_alone, has_old_price, owned
from hwprices.read.recommend import constants, table
from hwprices.read.recommend.question import OPTIONS, Question, refuse
from hwprices.read.recommend.speed import DEVICE, with_device
from hwprices.release.release import Release, Tables, has_accelerators, is_private_host
from hwprices.specs.rules import KEY, machine_cpus
from hwprices.units import WideMoney

col = pl.col

SHEET = ["accelerator_id", "kind", "product_line", "slice", "no_software", *DEVICE]

SINGLE_HOST_TPU, SERVING_TPU = r"^ct5l-|-(1|8)t$", r"^ct5l-"
"""TPU machines that cannot be joined to a slice (those for serving, and of one and eight chips),
and those sold for serving. https://cloud.google.com/tpu/docs/v5e#tpu-v5e-config"""

FLEX = r"-flex\."
"""AWS machines that keep their full speed for a part of the time, as burstable ones do:
https://www.vantage.sh/blog/m7i-flex-vs-t-series-cost"""

NOT_FOR_MODELS = ("fpga", "media")  # kinds of accelerators that do not run language models

DEVICES = table("devices").drop("source")
"""slice: most chips that the links of a TPU slice join; no_software: accelerators without software
for language models. With sources in devices.csv."""


def candidates(dataset: Tables, question: Question, ownership: Ownership) -> pl.DataFrame:
    """List every offer in the requested places, and every machine to buy.

    Offers are listed even if only machines to buy are requested: what renting costs decides when
    owning pays. Columns: those of ``_rented`` and ``_to_buy``, SHEET of the accelerator, devices
    (that the job can be divided over), usable_bytes (of one of them), inference_only, clusters
    (whether a fast network joins several machines), and obstacle: the code of what rules the
    machine out for every job.

    Raises:
        HwpricesError: the release has no such place.
    """
    asked = search(dataset, question)
    frame = _rented(dataset, question, asked)
    if question.where != "cloud" and question.machines != "cpus":
        frame = pl.concat([frame, _to_buy(dataset, ownership)], how="diagonal_relaxed")
    sheet = with_device(dataset.scan("accelerators").collect())
    sheet = sheet.join(DEVICES, "accelerator_id", "left")
    frame = frame.join(sheet.lazy().select(SHEET), "accelerator_id", "left", maintain_order="left")
    if asked.names_accelerators:
        kind = pl.coalesce("accelerator_kind", "kind")  # of machines to buy the device's
        is_named = [
            col.accelerator_id.is_in(sorted(asked.accelerators)),
            kind.is_in(sorted(asked.accelerator_kinds)),
            pairs("machine", asked.unknown_accelerators),
        ]
        frame = frame.filter(pl.any_horizontal(is_named))
    if asked.accelerator_count and asked.accelerator_count.most:  # 8xh100
        frame = frame.filter(asked.accelerator_count.holds(col.accelerator_count))
    is_cpu = (col.accelerator_kind == "none").fill_null(False)
    # an eighth of a device counts as one device with an eighth of its memory
    devices, gib = pl.max_horizontal(col.accelerator_count, 1.0), col.machine_memory_gib
    is_small = (gib <= constants.SMALL_MAC_GIB) & col.accelerator_id.str.starts_with("apple-")
    usable = (
        pl.when(is_small.fill_null(False))
        .then(constants.USABLE_SMALL_MAC)
        .when(col.unified_memory)
        .then(constants.USABLE_UNIFIED)
        .otherwise(constants.USABLE)
    )
    obstacles = {
        "burstable": is_cpu & (col.burstable | col.machine.str.contains(FLEX)),
        "cpu_unknown": is_cpu & col.cpu_id.is_null(),
        "accelerators_unclear": ~is_cpu & col.accelerator_id.is_null(),
        "not_for_models": col.kind.is_in(NOT_FOR_MODELS) | col.no_software,
        "memory_unknown": gib.is_null(),
    }
    is_slice = (col.kind == "tpu") & ~col.machine.str.contains(SINGLE_HOST_TPU)
    is_inference = (col.kind == "inference") | (col.product_line == "Inferentia")
    return (
        frame.with_columns(
            clusters=(col.rdma != "none") | is_slice,
            inference_only=is_inference | col.machine.str.contains(SERVING_TPU),
            devices=devices,
            usable_bytes=gib * 2**30 * usable / devices,
            obstacle=pl.coalesce("obstacle", first_of(obstacles)),
        )
        .with_columns(pl.selectors.boolean().fill_null(False))
        .collect()
    )


def search(dataset: Tables, question: Question) -> Search:
    """Look up the requested accelerators, clouds and places; USUAL where none is.

    Raises:
        HwpricesError: the release has no such thing, or the words ask for something else.
    """
    places = {n: getattr(question, n) for n in ("accelerator", "provider", "region", "country")}
    if not (question.words or any(places.values())):
        return USUAL
    # the tables alone do not have the providers' display names
    words = ReleaseWords.of(dataset) if isinstance(dataset, Release) else ReleaseWords(dataset)
    asked = request.request(words, question.words, **places)
    named = ("accelerators", "unknown_accelerators", "accelerator_kinds", "accelerator_count",
             "providers", "regions")  # fmt: skip
    usual = replace(USUAL, **{name: getattr(asked, name) for name in named})
    text = f"{question.words!r} asks for more than accelerators, clouds and places"
    advice = "Write 8xh100 aws europe. Options: --budget 20, --option spot, --machines cpus."
    refuse(asked != usual or NO_ACCELERATOR in asked.accelerator_kinds, text, advice)
    text = "accelerators are named, but only machines without any are requested"
    only_cpus = question.machines == "cpus"
    refuse(asked.names_accelerators and only_cpus, text, "Leave out one of the two.")
    if question.machines == "accelerators" and asked.accelerator_count is None:
        return replace(asked, accelerator_count=Bounds(least=0.01))  # an eighth of one counts
    return asked


def _rented(dataset: Tables, question: Question, asked: Search) -> pl.LazyFrame:
    """List offers, with accelerators or without any as the question says.

    where: cloud; cpu_id: of machines without accelerators; offer: number of the row in the table
    offers; no_price: code of why it has no price.
    """
    counted = has_accelerators() & (col.accelerator_count > 0)
    is_cpu = (col.accelerator_kind == "none").fill_null(False)
    wanted = {"accelerators": counted, "cpus": is_cpu, "all": counted | is_cpu}
    in_places = replace(EVERY_WAY, providers=asked.providers, regions=asked.regions)
    places = searching.price_conditions(in_places)
    offers = dataset.scan("offers").with_row_index("offer").filter(*places)
    if (overlays := rules.as_overlays(question.overlays)) is None:
        priced = offers_in_usd(offers, question.rates)
    else:
        apply.warn_unmatched(dataset, overlays)
        priced = apply.apply_to_offers(offers, overlays, question.rates)
    of_devices = pl.coalesce("accelerator_memory_gib", "type_gib")
    columns = (*KEY, "burstable", "family", "series", "cpu_models")
    types = (
        searching.machine_types(dataset)
        .select(*columns, type_gib="accelerator_memory_gib")
        .collect()
    )
    sheet, families = (dataset.scan(name).collect() for name in ("cpus", "cpu_families"))
    kinds = dataset.scan("regions").select("provider", "region", region_kind="kind")
    prices = {option: col(f"{option}_usd_per_hour") for option in OPTIONS["any"]}
    chosen = {option: prices[option] for option in OPTIONS[question.option]}
    cheapest = pl.min_horizontal(*chosen.values())
    no_price = {
        "other_currency": (col.currency != "USD") & ~col.currency.is_in(list(question.rates)),
        "other_option": pl.any_horizontal(price.is_not_null() for price in prices.values()),
    }
    return (
        priced.filter(wanted[question.machines])
        .join(types.lazy(), KEY, "left")
        .join(machine_cpus(types, sheet, families, "cpu_id").lazy(), KEY, "left")
        .join(kinds, ["provider", "region"], "left")
        .select(
            *("provider", "region", "accelerator_id", "accelerator_kind", "accelerator_count"),
            *("vcpus", "rdma", "spot_usd_per_hour", "best_1y_usd_per_hour", "best_3y_usd_per_hour"),
            *("best_1y_option", "best_3y_option", "energy_kwh_per_hour", "burstable"),
            *("operational_gco2e_per_hour", "currency", "on_demand_reason", "offer"),
            where=pl.lit("cloud"),
            purchase_option=first_of({name: price == cheapest for name, price in chosen.items()}),
            usd_per_hour=cheapest,
            no_price=first_of(no_price, "no_on_demand_price"),
            machine="instance_type",
            private_host=is_private_host(),
            government=col.region_kind == "gov",
            availability_unknown=col.flags.list.contains("availability_unknown"),
            cpu_id=pl.when(is_cpu).then("cpu_id"),
            machine_memory_gib=pl.when(is_cpu).then("memory_gib").otherwise(of_devices),
            network_gbps="network_gbps_max",
            unified_memory=is_cpu,
            obstacle=pl.lit(None, pl.String),  # this and the next are known of machines to buy
            energy_usd_per_hour=pl.lit(None, WideMoney),
        )
    )


def _to_buy(dataset: Tables, ownership: Ownership) -> pl.LazyFrame:
    """List machines to buy; their price is what owning them costs for an hour of use."""
    obstacles = {
        "no_accelerator": (col.accelerator_count < 1) | has_cpus_alone(),
        "needs_host": ~col.complete,
        "old_price": has_old_price(),
    }
    no_price = {"no_price": col.price.is_null(), "other_currency": col.purchase_price_usd.is_null()}
    return (
        owned(dataset, ownership)
        .lazy()
        .select(
            *("accelerator_id", "accelerator_count", "network_gbps", "unified_memory"),
            *("energy_kwh_per_hour", "operational_gco2e_per_hour", "energy_usd_per_hour"),
            "purchase_price_usd",
            purchase_price_date="price_date",
            where=pl.lit("local"),
            provider="vendor",
            machine="device_id",
            purchase_option=pl.lit("tco"),
            usd_per_hour="tco_usd_per_hour",
            machine_memory_gib="accelerator_memory_gb",  # makers write GB and mean 2^30 bytes
            obstacle=first_of(obstacles),
            no_price=first_of(no_price, "power_unknown"),
            currency="price_currency",
        )
    )
