"""Describe one device: what it is, who sells it, its prices, speed and emissions."""

import re
from collections.abc import Callable, Mapping

import polars as pl

from hwprices.read.currency import NO_RATES, Rates, offers_in_usd, read_rates
from hwprices.read.device import figures, lookup, measured
from hwprices.read.device.lookup import Values, to_frame
from hwprices.read.device.measured import PriceDates, where_sold
from hwprices.read.find.names import ReleaseWords
from hwprices.read.ownership import DEFAULTS, Ownership, owned
from hwprices.release import wording
from hwprices.release.release import Release, Tables
from hwprices.specs.rules import KEY, machine_cpus
from hwprices.units import NUMBER_FORMATS

ARM_FP16 = "arm_fp16"
"""Half precision arithmetic of Arm (fphp and asimdhp in lscpu), for which the sheet has no column.
Armv8.2 introduced it (FEAT_FP16), and every Armv8.2 CPU of the sheet has it:
https://developer.arm.com/documentation/109697/latest/Feature-descriptions"""

FIRST_ISA_WITH_ARM_FP16 = (8, 2)

CPU_FEATURES = {
    "fp16": ("amx_fp16", "avx512_fp16", ARM_FP16),
    "bf16": ("amx_bf16", "avx512_bf16", "arm_bf16"),
    "int8": ("amx_int8", "avx512_vnni", "avx_vnni", "dotprod", "i8mm"),
}
"""Number formats: columns of cpus, and ARM_FP16. A CPU with any of the features has the format."""


def device(
    dataset: Tables,
    name: str,
    ownership: Ownership = DEFAULTS,
    rates: Mapping[str, object] = NO_RATES,
) -> pl.DataFrame:
    """Describe an accelerator, a CPU or a machine to buy in one row.

    ``name`` is an id (nvidia-l4), a name (RTX 4090), enough words of a name, or a machine type or
    family of a cloud (p5.48xlarge, P5). An id in two tables means the accelerator; name the other
    table to get the other device (cpus/apple-m4). ``ownership``: assumptions behind
    tco_usd_per_hour. ``rates``: exchange rates to USD ({"EUR": "1.08"}). Columns:
    ``columns.csv``. Costs and emissions are per accelerator, per vCPU of a CPU, or per machine.

    >>> import hwprices
    >>> device(hwprices.open("sample"), "l4").select("device_id", "memory_gb").rows()
    [('nvidia-l4', 24.0)]

    Raises:
        HwpricesError: no device or several devices have this name (the message suggests similar
            ones), or a rate is invalid.
    """
    parsed_rates = read_rates(rates)
    sold_as = lookup.SoldAs.of(dataset)
    names = ReleaseWords.of(dataset) if isinstance(dataset, Release) else ReleaseWords(dataset)
    devices = lookup.candidates(dataset)
    table, device_id = lookup.find(devices, name, sold_as, names)
    answer = ANSWERS[table](dataset, device_id, ownership, parsed_rates)
    if namesakes := lookup.namesakes(devices, table, device_id):
        others = f"The id has another answer too: hwprices device {', '.join(namesakes)}."
        answer["notes"] = " ".join(filter(None, [answer["notes"], others]))
    return to_frame(answer, sold_as.unanswered(name, device_id))


def _row(dataset: Tables, table: str, column: str, value: str) -> Values:
    return dataset.scan(table).filter(pl.col(column) == value).collect().row(0, named=True)


def _accelerator(
    dataset: Tables, accelerator_id: str, ownership: Ownership, rates: Rates
) -> Values:
    """Describe an accelerator, with its offers, benchmarks and the machines that have it."""
    row = _row(dataset, "accelerators", "accelerator_id", accelerator_id)
    native_offers = dataset.scan("offers").filter(pl.col("accelerator_id") == accelerator_id)
    offers = offers_in_usd(native_offers, rates).collect()
    dates = PriceDates.of(dataset, offers)
    offers = dates.add_to(offers)
    cheapest = measured.cheapest_offers(offers)
    results = measured.results(dataset, measured.sizes_of(cheapest), accelerator_id)
    rent = figures.rent(
        offers,
        dates,
        on_demand="usd_per_accelerator_hour",
        spot="spot_usd_per_accelerator_hour",
        count="accelerator_count",
        part_usd_per_hour=row["min_part_usd_per_hour"],
    )
    judged_at = wording.judged_at(dataset) if isinstance(dataset, Release) else {}
    return {
        **_identity(row, accelerator_id, row["kind"], row["architecture"]),
        **_accelerator_capabilities(row),
        "providers": row["providers"],
        "regions": row["regions"],
        "where_sold": where_sold(offers, row["providers"], judged_at),
        "local_devices": row["local_devices"],
        "sold_locally": row["sold_locally"] or bool(row["local_devices"]),
        **rent,
        **figures.purchase(dataset, row, ownership),
        "measured": figures.measurements(results),
        "usd_per_million_tokens": figures.token_prices(cheapest, results),
        "usd_per_thousand_samples": figures.sample_prices(
            results, rent["on_demand_usd_per_hour"], 1.0
        ),
        **figures.power(row),
        **figures.emissions(offers),
    }


IDENTITY = (
    *("name", "vendor", "release_year", "memory_gb", "memory_bandwidth_gbs"),
    *("source_url", "confidence", "notes"),
)
"""Columns of the answer that are columns of accelerators, cpus or local_hardware."""


def _identity(row: Values, device_id: str, device_type: str, architecture: str | None) -> Values:
    return {
        **{name: row.get(name) for name in IDENTITY},
        "device_id": device_id,
        "type": device_type,
        "architecture": architecture,
    }


def _accelerator_capabilities(row: Values) -> Values:
    """Return number formats and dense rates (TFLOPS, or TOPS for integers) of an accelerator."""
    rates = [
        {
            "dtype": dtype,
            "rate": row[column],
            "unit": "TOPS" if dtype.startswith("int") else "TFLOPS",
        }
        for dtype, column in NUMBER_FORMATS.items()
        if row[column]
    ]
    support = {dtype: row[f"{dtype}_support"] for dtype in NUMBER_FORMATS}
    return {
        "dtypes": [dtype for dtype, state in support.items() if state == "supported"],
        "dtypes_unknown": [dtype for dtype, state in support.items() if state == "unknown"],
        "dense_rates": rates,
        "ai_features": row["ai_features"],
        "software": row.get("software_stack"),
    }


def _cpu(dataset: Tables, cpu_id: str, _: Ownership, rates: Rates) -> Values:
    """Describe a CPU by the offers of the machine types with it; prices are per vCPU."""
    row = _row(dataset, "cpus", "cpu_id", cpu_id)
    types = machine_cpus(
        dataset.scan("instance_types").select(*KEY, "family", "series", "cpu_models").collect(),
        dataset.scan("cpus").collect(),
        dataset.scan("cpu_families").collect(),
        "cpu_id",
    )
    with_this_cpu = types.filter(cpu_id=cpu_id).lazy()
    native_offers = dataset.scan("offers").join(with_this_cpu, on=KEY, how="semi")
    offers = offers_in_usd(native_offers, rates).collect()
    dates = PriceDates.of(dataset, offers)
    without_accelerators = dates.add_to(offers.filter(accelerator_kind="none"))
    rent = figures.rent(without_accelerators, dates, on_demand="usd_per_vcpu_hour", count="vcpus")
    one_vcpu = without_accelerators.with_columns(
        accelerator_count=pl.col("vcpus").cast(pl.Float64),
        usd_per_accelerator_hour="usd_per_vcpu_hour",
    )
    architecture = f"{row['microarchitecture']} ({row['isa'] or row['arch']})"
    return {
        **_identity(row, cpu_id, "cpu", architecture),
        **_cpu_capabilities(row),
        "providers": offers["provider"].unique().sort().to_list(),
        "regions": figures.regions(without_accelerators),
        "where_sold": [],
        **rent,
        "measured": figures.cpu_measurements(cpu_id),
        "power_w": row["tdp_w"],
        "power_basis": None if row["tdp_w"] is None else "TDP of the socket",
        **figures.emissions(one_vcpu),
    }


def _cpu_capabilities(row: Values) -> Values:
    """Return number formats of a CPU: always fp64 and fp32; features add the others."""
    features_of = row | {ARM_FP16: _arm_fp16(row)}
    states = {
        dtype: {features_of[feature] for feature in features}
        for dtype, features in CPU_FEATURES.items()
    }
    supported = [dtype for dtype, values in states.items() if "supported" in values]
    return {
        "dtypes": ["fp64", "fp32", *supported],
        "dtypes_unknown": [
            dtype
            for dtype, values in states.items()
            if dtype not in supported and "unknown" in values
        ],
        "ai_features": [name for name, value in row.items() if value == "supported"],
        "software": row.get("software_stack"),
    }


def _arm_fp16(row: Values) -> str:
    """State whether a CPU has Arm's half precision, by the version of its instruction set."""
    if row["arch"] != "arm64":
        return "unsupported"
    version = re.match(r"armv(\d+)\.(\d+)-a", row["isa"] or "")
    if version is None:
        return "unknown"
    has_it = (int(version[1]), int(version[2])) >= FIRST_ISA_WITH_ARM_FP16
    return "supported" if has_it else "unsupported"


def _machine(dataset: Tables, device_id: str, ownership: Ownership, rates: Rates) -> Values:
    """Describe a machine on sale, with the formats and the measured speed of its accelerator."""
    row = owned(dataset, ownership).filter(device_id=device_id).row(0, named=True)
    accelerator: Values = {}
    if row["accelerator_id"]:
        accelerator = _accelerator(dataset, row["accelerator_id"], ownership, rates)
    count = row["accelerator_count"] or 1.0
    bandwidth, dense = accelerator.get("memory_bandwidth_gbs"), accelerator.get("dense_rates")
    basis = f"{row['price_kind'] or 'kind not known'}, {row['price_date'] or 'undated'}"
    return {
        **_identity(row, device_id, row["kind"], accelerator.get("architecture") or row["cpu"]),
        "memory_gb": row["accelerator_memory_gb"] or row["memory_gib"],
        "memory_bandwidth_gbs": None if bandwidth is None else bandwidth * count,
        **{name: accelerator.get(name) for name in CAPABILITIES},
        "dense_rates": dense and [rate | {"rate": rate["rate"] * count} for rate in dense],
        "providers": [],
        "regions": [],
        "where_sold": [],
        "local_devices": [device_id],
        "sold_locally": True,
        "purchase_price": row["price"],
        "purchase_currency": row["price_currency"],
        "purchase_price_usd": row["purchase_price_usd"],
        "purchase_basis": None if row["price"] is None else basis,
        "tco_usd_per_hour": row["tco_usd_per_hour"],
        **_machine_performance(dataset, row),
        **_machine_power(row, accelerator, count),
        **_machine_emissions(row),
    }


CAPABILITIES = ("dtypes", "dtypes_unknown", "ai_features", "software")
"""Columns that a machine on sale takes from its accelerator."""


def _machine_power(row: Values, accelerator: Values, count: float) -> Values:
    """Return the watts of a machine, and the rate of all its accelerators per watt."""
    rate, tdp = accelerator.get("tflops_per_watt"), accelerator.get("tdp_w")
    efficiency = None
    if rate and tdp and row["power_w"]:
        efficiency = rate * tdp * count / row["power_w"]
    return {
        "power_w": row["power_w"],
        "power_basis": row["power_basis"],
        "tflops_per_watt": efficiency,
        "tflops_per_watt_dtype": accelerator["tflops_per_watt_dtype"] if efficiency else None,
    }


def _machine_performance(dataset: Tables, row: Values) -> Values:
    """Return the measured speed of machines of its size, and the owner's cost of tokens and images.

    ``row``: of ``ownership.owned``.
    """
    if not row["accelerator_id"]:
        return {}
    cost, count = row["tco_usd_per_hour"], row["accelerator_count"]
    results = measured.results(dataset, lambda *_: count, row["accelerator_id"])
    return {
        "measured": figures.measurements(results),
        "usd_per_million_tokens": figures.owned_token_prices(results, cost, count),
        "usd_per_thousand_samples": figures.sample_prices(results, cost, count),
    }


def _machine_emissions(row: Values) -> Values:
    """Return SCI if the embodied emissions are known, else electricity; both on your grid."""
    bases = {"gco2e_per_hour": "SCI", "operational_gco2e_per_hour": "electricity"}
    for column, basis in bases.items():
        if row[column] is not None:
            return {"gco2e_per_hour": row[column], "gco2e_basis": f"{basis}, your grid"}
    return {}


ANSWERS: dict[str, Callable[[Tables, str, Ownership, Rates], Values]] = {
    "accelerators": _accelerator,
    "cpus": _cpu,
    "local_hardware": _machine,
}
"""Functions that describe a device, by table."""
