"""List machines that a job might run on, to rent and to buy, and the ids of their prices."""

from dataclasses import replace

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.currency import offers_in_usd
from hwprices.read.find import request
from hwprices.read.find.names import ReleaseWords
from hwprices.read.find.search import (
    EVERY_WAY,
    USUAL,
    Bounds,
    Search,
    machine_types,
    pairs,
    price_conditions,
)
from hwprices.read.overlays import apply, rules
from hwprices.read.ownership import Ownership, has_cpus_alone, has_old_price, owned
from hwprices.read.recommend import constants
from hwprices.read.recommend.question import OPTIONS, Limits
from hwprices.read.recommend.speed import DEVICE, with_device
from hwprices.release.release import REAL, Release, Tables, is_private_host, scan_types
from hwprices.schemas.vocabulary import COMMITMENT_COLUMNS
from hwprices.specs.rules import KEY, machine_cpus
from hwprices.units import WideMoney

col = pl.col

SINGLE_HOST_TPU, SERVING_TPU = r"^ct5l-|-(1|8)t$", r"^ct5l-"
"""TPU machines that cannot be joined to a slice (those for serving, and of one and eight chips),
and those sold for serving. https://cloud.google.com/tpu/docs/v5e#tpu-v5e-config"""

FLEX = r"-flex\."
"""AWS machines that keep their full speed for a part of the time, as burstable ones do:
https://www.vantage.sh/blog/m7i-flex-vs-t-series-cost"""

NOT_FOR_MODELS = ("fpga", "media")  # kinds of accelerators that do not run language models

NO_LLM_SOFTWARE = ("aws-inferentia1", "google-coral-edge-tpu", "hailo-8")
"""Accelerators without software for language models: AWS' NxD Inference begins with Inferentia2,
https://awsdocs-neuron.readthedocs-hosted.com/en/latest/libraries/nxd-inference/"""


def candidates(dataset: Tables, limits: Limits, ownership: Ownership) -> pl.DataFrame:
    """List every offer in the requested places, and every machine to buy.

    Those to rent are listed also where only those to buy are requested: what renting costs decides
    when owning pays. Columns: those of ``_rented`` and ``_to_buy``, kind and DEVICE of the
    accelerator, devices (that the job can be divided over), usable_bytes (of one of them),
    inference_only, clusters (whether a fast network joins several machines), and obstacle: the code
    of what rules the machine out for every job.

    Raises:
        HwpricesError: the release has no such place.
    """
    asked = search(dataset, limits)
    frame = _rented(dataset, limits, asked)
    if limits.where != "cloud" and limits.machines != "cpus":
        frame = pl.concat([frame, _to_buy(dataset, ownership)], how="diagonal_relaxed")
    if asked.accelerators or asked.unknown_accelerators:
        is_named = pairs("machine", asked.unknown_accelerators)
        frame = frame.filter(col.accelerator_id.is_in(sorted(asked.accelerators)) | is_named)
    if asked.accelerator_count and asked.accelerator_count.most:  # 8xh100
        frame = frame.filter(asked.accelerator_count.holds(col.accelerator_count))
    is_cpu = (col.accelerator_kind == "none").fill_null(False)
    # an eighth of a device counts as one device with an eighth of its memory
    devices, gib = pl.max_horizontal(col.accelerator_count, 1.0), col.machine_memory_gib
    usable = pl.when(col.unified_memory).then(constants.USABLE_UNIFIED).otherwise(constants.USABLE)
    not_for_models = col.kind.is_in(NOT_FOR_MODELS) | col.accelerator_id.is_in(NO_LLM_SOFTWARE)
    obstacles = {
        "burstable": is_cpu & (col.burstable | col.machine.str.contains(FLEX)),
        "cpu_unknown": is_cpu & col.cpu_id.is_null(),
        "accelerators_unclear": ~is_cpu & col.accelerator_id.is_null(),
        "not_for_models": not_for_models,
        "memory_unknown": gib.is_null(),
    }
    is_slice = (col.kind == "tpu") & ~col.machine.str.contains(SINGLE_HOST_TPU)
    is_inference = (col.kind == "inference") | (col.product_line == "Inferentia")
    devices_of_sheet = with_device(dataset.scan("accelerators").collect()).lazy()
    sheet = devices_of_sheet.select("accelerator_id", "kind", "product_line", *DEVICE)
    return (
        frame.join(sheet, "accelerator_id", "left", maintain_order="left")
        .with_columns(
            clusters=(col.rdma != "none") | is_slice,
            inference_only=is_inference | col.machine.str.contains(SERVING_TPU),
            devices=devices,
            usable_bytes=gib * 2**30 * usable / devices,
            obstacle=pl.coalesce("obstacle", first_of(obstacles)),
        )
        .with_columns(pl.selectors.boolean().fill_null(False))
        .collect()
    )


def search(dataset: Tables, limits: Limits) -> Search:
    """Look up the requested accelerators, clouds and places; USUAL where none is.

    Raises:
        HwpricesError: the release has no such thing, or the words ask for something else.
    """
    places = {name: getattr(limits, name) for name in ("provider", "region", "country")}
    if not (limits.words or any(places.values())):
        return USUAL
    # the tables alone do not have the providers' display names
    words = ReleaseWords.of(dataset) if isinstance(dataset, Release) else ReleaseWords(dataset)
    asked = request.request(words, limits.words, **places)
    named = ("accelerators", "unknown_accelerators", "accelerator_count", "providers", "regions")
    if asked != replace(USUAL, **{name: getattr(asked, name) for name in named}):
        raise HwpricesError(
            f"{limits.words!r} asks for more than accelerators, clouds and places",
            "Write 8xh100 aws europe; prices with --option, machines without GPUs with --machines.",
        )
    # an eighth of one counts
    has_accelerators = Bounds(least=0.01) if limits.machines == "accelerators" else None
    return replace(asked, accelerator_count=asked.accelerator_count or has_accelerators)


def _rented(dataset: Tables, limits: Limits, asked: Search) -> pl.LazyFrame:
    """List offers, with accelerators or without any as the limits say.

    where: cloud; cpu_id: of machines without accelerators; offer: number of the row in the table
    offers; no_price: code of why it has no price.
    """
    has_accelerators = (col.accelerator_count > 0).fill_null(False)
    is_cpu = (col.accelerator_kind == "none").fill_null(False)
    wanted = {"accelerators": has_accelerators, "cpus": is_cpu, "all": has_accelerators | is_cpu}
    places = price_conditions(replace(EVERY_WAY, providers=asked.providers, regions=asked.regions))
    offers = dataset.scan("offers").with_row_index("offer").filter(*places)
    overlays = rules.as_overlays(limits.overlays)
    priced = (
        offers_in_usd(offers, limits.rates)
        if overlays is None
        else apply.apply_to_offers(offers, overlays, limits.rates)
    )
    of_devices = pl.coalesce("accelerator_memory_gib", "type_gib")
    columns = (*KEY, "burstable", "family", "series", "cpu_models")
    types = machine_types(dataset).select(*columns, type_gib="accelerator_memory_gib").collect()
    sheet, families = (dataset.scan(name).collect() for name in ("cpus", "cpu_families"))
    kinds = dataset.scan("regions").select("provider", "region", region_kind="kind")
    return (
        priced.filter(wanted[limits.machines])
        .join(types.lazy(), KEY, "left")
        .join(machine_cpus(types, sheet, families, "cpu_id").lazy(), KEY, "left")
        .join(kinds, ["provider", "region"], "left")
        .select(
            *("provider", "region", "accelerator_id", "accelerator_kind", "accelerator_count"),
            *("vcpus", "rdma", "spot_usd_per_hour", "best_1y_usd_per_hour", "best_3y_usd_per_hour"),
            *("best_1y_option", "best_3y_option", "energy_kwh_per_hour", "burstable"),
            *("operational_gco2e_per_hour", "currency", "on_demand_reason", "offer"),
            **_prices(limits),
            where=pl.lit("cloud"),
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


def _prices(limits: Limits) -> dict[str, pl.Expr]:
    """Return what an offer costs under the option, and the code of why it has no price."""
    prices = {option: col(f"{option}_usd_per_hour") for option in OPTIONS["any"]}
    chosen = {option: prices[option] for option in OPTIONS[limits.option]}
    cheapest = pl.min_horizontal(*chosen.values())
    reasons = {
        "other_currency": (col.currency != "USD") & ~col.currency.is_in(list(limits.rates)),
        "other_option": pl.any_horizontal(price.is_not_null() for price in prices.values()),
    }
    return {
        "purchase_option": first_of({name: price == cheapest for name, price in chosen.items()}),
        "usd_per_hour": cheapest,
        "no_price": first_of(reasons, "no_on_demand_price"),
    }


def first_of(conditions: dict[str, pl.Expr], otherwise: str | None = None) -> pl.Expr:
    """Return the first code whose condition holds."""
    codes = (pl.when(condition).then(pl.lit(code)) for code, condition in conditions.items())
    return pl.coalesce(*codes, pl.lit(otherwise))


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


PLACE = ["provider", "machine", "region"]


def with_price_ids(ranked: pl.DataFrame, dataset: Tables) -> pl.DataFrame:
    """Add price_id to the ranked machines to rent of an answer of ``recommend``.

    It is from the table offers; ids of commitments and blocks, which offers lack, are from prices.
    Random ids are most of the bytes of both tables, so only those of ranked machines are read.
    """
    key, is_rented = [*PLACE, "purchase_option"], col.rank.is_not_null() & (col.where == "cloud")
    rented = ranked.filter(is_rented)
    if rented.is_empty():
        return ranked
    first, last = rented.select(col.offer.min(), last=col.offer.max()).row(0)
    of_offers = {name: f"{name}_price_id" for name in ("on_demand", "spot")}
    offers = dataset.scan("offers").with_row_index("offer").slice(first, last - first + 1)
    ids = offers.select("offer", *of_offers.values()).collect()
    found = (pl.when(is_rented, purchase_option=name).then(id_) for name, id_ in of_offers.items())
    rows = ranked.drop("price_id").join(ids, "offer", "left", maintain_order="left")
    rows = rows.with_columns(price_id=pl.coalesce(found))
    others = rows.filter(is_rented, col.price_id.is_null())
    if others.is_empty():
        return rows
    listed = rows.join(_ids_of_prices(others, key, dataset), key, "left", maintain_order="left")
    of_prices = pl.when(is_rented).then("listed_price_id")
    return listed.with_columns(price_id=pl.coalesce("price_id", of_prices))


def _ids_of_prices(machines: pl.DataFrame, key: list[str], dataset: Tables) -> pl.DataFrame:
    """Return the id of the cheapest price of each machine and option, as offers choose it.

    Own discounts may have made another commitment the cheapest than that of the list prices.
    """
    is_committed = col.purchase_option.is_in({option for option, _ in COMMITMENT_COLUMNS.values()})
    best = pl.when(is_committed).then(pl.format("best_{}y", col.term_months // 12))
    chosen = (pl.when(purchase_option=f"best_{n}y").then(f"best_{n}y_option") for n in (1, 3))
    begins = pl.coalesce(
        pl.when(col.purchase_option == option, col.commitment_plan == plan).then(pl.lit(name))
        for name, (option, plan) in COMMITMENT_COLUMNS.items()
    )
    of_chosen = col.chosen.str.starts_with(col.begins).fill_null(value=False)
    return (
        scan_types(dataset, "prices", machines["machine"])
        .rename({"instance_type": "machine"})
        .filter(*REAL, os="linux", software="none", license_model="included", tenancy="shared")
        .filter(~is_committed | (col.commitment_plan != "convertible"))
        .with_columns(begins=begins, purchase_option=best.otherwise("purchase_option"))
        .join(machines.lazy().select(*key, chosen=pl.coalesce(chosen)), key)
        .sort(~of_chosen, "effective_hourly", "price_id")
        .unique(key, keep="first", maintain_order=True)
        .select(*key, listed_price_id="price_id")
        .collect()
    )
