"""The sheets cover what they must, and fit together."""

import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.cases import cases, rows

Sheets = Mapping[str, pl.DataFrame]


def test_every_device_that_clouds_sell_or_people_compare_with(accelerators: pl.DataFrame) -> None:
    assert accelerators.height >= 100
    devices = {row["accelerator_id"] for row in rows("specs/devices")}
    assert len(devices) == 78
    assert devices <= set(accelerators["accelerator_id"])


def test_ids_of_others_are_ids_of_the_sheet(sheets: Sheets) -> None:
    device_ids = set(sheets["accelerators"]["accelerator_id"])
    assert set(sheets["benchmarks"]["accelerator_id"]) <= device_ids
    assert set(sheets["local_hardware"]["accelerator_id"].drop_nulls()) <= device_ids
    assert set(sheets["cpu_families"]["cpu_id"]) <= set(sheets["cpus"]["cpu_id"])


@pytest.mark.parametrize(
    "table",
    [
        *("accelerators", "cpus", "cpu_families", "local_hardware", "region_footprint"),
        *("power_coefficients", "billing_terms"),
    ],
)
def test_every_row_has_a_source_a_day_and_a_confidence(sheets: Sheets, table: str) -> None:
    frame = sheets[table]
    sources = frame.select("source_url", "as_of", "confidence", "verified")
    assert sources.null_count().row(0) == (0, 0, 0, 0)
    assert frame["as_of"].min() >= date(2025, 1, 1)
    assert frame.filter(pl.col("verified") & (pl.col("confidence") == "low")).is_empty()


def test_local_hardware(sheets: Sheets) -> None:
    machines = sheets["local_hardware"]
    assert machines.height >= 25
    assert machines["price"].count() >= 25
    assert {"nvidia-dgx-h100", "nvidia-dgx-spark"} <= set(machines["device_id"])
    assert machines.filter(
        pl.col("max_power_w").is_null() & pl.col("power_estimate_w").is_null()
    ).is_empty()
    cluster = machines.filter(device_id="compute-blade-cluster-20")
    columns = ("price", "price_currency", "cpu_cores", "memory_gib")
    assert cluster.select(columns).rows() == [(3820, "EUR", 80, 160)]


def test_a_machine_does_not_have_the_embodied_emissions_of_its_board(sheets: Sheets) -> None:
    """NVIDIA's 1,312 kgCO2e is of an HGX H100, without the host that a DGX H100 has."""
    known = sheets["local_hardware"].filter(pl.col("embodied_kgco2e").is_not_null())
    assert set(known["device_id"]) == {"nvidia-hgx-h100", "nvidia-hgx-b200"}
    assert not known["complete"].any()


def test_a_port_belongs_to_the_price(sheets: Sheets) -> None:
    """At 2,199 USD the Mac mini M4 Pro has Gigabit Ethernet; 10 Gb is an option."""
    minis = sheets["local_hardware"].filter(pl.col("device_id").str.contains("mac-mini"))
    assert minis["network_gbps"].to_list() == [1.0, 1.0]


def test_memory_of_machines_is_that_of_their_accelerators(sheets: Sheets) -> None:
    each = sheets["accelerators"].select("accelerator_id", "memory_gb")
    machines = (
        sheets["local_hardware"]
        .join(each, on="accelerator_id")
        .drop_nulls(["accelerator_memory_gb", "memory_gb"])
    )
    own = machines.filter(
        ~pl.col("unified_memory"), pl.col("device_id") != "nvidia-dgx-station-a100-320gb"
    )  # its four cards have 80 GB each
    assert own.height > 15
    assert own.filter(
        pl.col("accelerator_memory_gb") != pl.col("accelerator_count") * pl.col("memory_gb")
    ).is_empty()


FEATURES = [
    *("avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_fp16"),
    *("sve", "sve2", "i8mm", "sme"),
]


@cases("specs/cpu_features", supported=str.split)
def test_cpu_features_of_the_generations(sheets: Sheets, cpu: str, supported: list[str]) -> None:
    row = sheets["cpus"].row(by_predicate=pl.col("cpu_id") == cpu, named=True)
    assert {flag for flag in FEATURES if row[flag] == "supported"} == set(supported)


@cases("specs/cpu_names")
def test_one_pattern_matches_one_cpu(sheets: Sheets, name: str, cpu: str) -> None:
    patterns = sheets["cpus"].drop_nulls("model_pattern")
    regex = pl.format("(?i)^(?:{})$", "model_pattern")
    assert patterns.filter(pl.lit(name).str.contains(regex))["cpu_id"].to_list() == [cpu]


def test_families_that_promise_one_model_name_one(sheets: Sheets) -> None:
    families = (
        sheets["cpu_families"].group_by("provider", "family").agg(pl.len(), pl.col("only").all())
    )
    assert families.filter(pl.col("only") != (pl.col("len") == 1)).is_empty()


def test_coefficients_are_of_known_cpus_and_plausible(sheets: Sheets) -> None:
    vcpu = sheets["power_coefficients"].filter(component="vcpu")
    names = set(sheets["cpus"]["microarchitecture"]) | {"average"}
    assert set(vcpu["microarchitecture"]) <= names
    assert vcpu["max_watts"].max() < 9
    memory = sheets["power_coefficients"].filter(component="memory")
    assert memory.select("provider", "max_watts", "unit").rows() == [("any", 0.392, "gb")]
    assert sheets["power_coefficients"].filter(component="ssd").select(
        "max_watts", "unit"
    ).rows() == [(1.2, "tb")]


def test_regions(sheets: Sheets) -> None:
    places = sheets["region_footprint"]
    placed = pl.col("provider").is_in(["aws", "gcp", "azure"])
    regions = places.filter(placed, kind="region")
    assert places.filter(~placed)["grid_basis"].null_count() == 0
    assert dict(regions.group_by("provider").len().iter_rows()).keys() == {"aws", "gcp", "azure"}
    columns = ("country", "continent", "latitude", "longitude")
    assert regions.select(columns).null_count().row(0) == (0, 0, 0, 0)
    assert regions["grid_gco2e_per_kwh"].count() / regions.height > 0.95
    iowa = places.filter(provider="gcp", region="us-central1")
    figures = ("grid_gco2e_per_kwh", "grid_year", "pue", "pue_year")
    assert iowa.select(figures).rows() == [(412.72, 2024, 1.1, 2024)]
    virginia = places.filter(provider="aws", region="us-east-1")
    assert virginia.select("pue", "pue_year", "country").rows() == [(1.15, 2024, "US")]


def test_a_zone_lies_in_a_region_of_the_sheet(sheets: Sheets) -> None:
    places = sheets["region_footprint"]
    zones = places.filter(pl.col("parent_region").is_not_null())
    assert set(zones["kind"]) == {"local_zone", "wavelength"}
    assert set(zones["parent_region"]) <= set(places.filter(provider="aws")["region"])


def test_places_lie_on_their_continent(sheets: Sheets) -> None:
    """A lost minus sign, as in Azure's longitude of Madrid, puts a place on another continent."""
    longitudes = {
        "north_america": (-160, -65),
        "south_america": (-80, -40),
        "europe": (-10, 35),
        "africa": (-20, 45),
        "asia": (30, 145),
        "oceania": (110, 180),
    }
    for continent, (west, east) in longitudes.items():
        regions = sheets["region_footprint"].filter(continent=continent)
        assert regions.filter(~pl.col("longitude").is_between(west, east))["region"].to_list() == []
    madrid = sheets["region_footprint"].filter(region="spaincentral")
    assert madrid["longitude"].item() < 0


def test_benchmarks_cover_the_rounds_and_the_fine_tuning(sheets: Sheets) -> None:
    benchmarks = sheets["benchmarks"]
    assert {"v4.1", "v5.1", "v6.0"} <= set(benchmarks.filter(suite="mlperf_inference")["round"])
    newest = benchmarks.filter(suite="mlperf_inference", round="v6.0")
    assert newest["official"].all()
    assert newest["accelerator_count"].null_count() == 0
    lora = benchmarks.filter(model="llama2_70b_lora")
    assert lora.height > 50
    assert lora.filter(
        (
            pl.col("result") * pl.col("accelerator_count") / 60 / pl.col("accelerator_hours") - 1
        ).abs()
        > 0.01
    ).is_empty()


def test_a_server_gives_tokens_and_not_samples(sheets: Sheets) -> None:
    """Under Server a system gives at least a twentieth of its Offline tokens.

    Llama 2 70B of v4.0 had a 300th: samples per second, which were called Tokens/s.
    """
    key = ["accelerator_id", "model", "round", "system"]
    of_tokens = sheets["benchmarks"].filter(result_unit="Tokens/s").drop_nulls("result")
    offline, server = (
        of_tokens.filter(scenario=scenario).select(*key, result=pl.col("result"))
        for scenario in ("Offline", "Server")
    )
    both = server.join(offline, on=key, suffix="_offline")
    assert both.height > 400
    assert both.filter(pl.col("result") * 20 < pl.col("result_offline")).is_empty()


def test_other_providers_know_a_cpus_watts_better_than_the_average_does(sheets, project) -> None:
    """Each coefficient is predicted without itself; docs/method.md has the figures."""
    half_load = (pl.col("min_watts") + pl.col("max_watts")) / 2
    watts = sheets["power_coefficients"].filter(component="vcpu").with_columns(watts=half_load)
    averages = watts.filter(microarchitecture="average").select("provider", average="watts")
    measured = watts.filter(pl.col("confidence") != "low", pl.col("microarchitecture") != "average")
    others = measured.join(measured, on="microarchitecture", suffix="_other").filter(
        pl.col("provider") != pl.col("provider_other")
    )
    predicted = others.group_by("provider", "microarchitecture").agg(
        pl.col("watts").first(), elsewhere=pl.col("watts_other").mean()
    )
    predicted = predicted.join(averages, on="provider")
    errors = [(predicted[name] / predicted["watts"] - 1).abs() for name in ("elsewhere", "average")]
    (median, most), (median_average, most_average) = [(e.median(), e.max()) for e in errors]
    page = " ".join((project / "docs/method.md").read_text().split())
    assert f"In {predicted.height} pairs of provider and microarchitecture" in page
    assert f"at half load by {median:.0%} (median; at most {most:.0%}),".replace("%", " %") in page
    sentence = f"the provider's average by {median_average:.0%} (at most {most_average:.0%})"
    assert sentence.replace("%", " %") in page


def test_the_readme_names_every_embodied_emission(sheets: Sheets, project: Path) -> None:
    known = sheets["accelerators"]["embodied_kgco2e"].drop_nulls()
    readme = " ".join((project / "data/specs/README.md").read_text(encoding="utf-8").split())
    begins = readme.index("Six accelerators have a figure.")
    text = readme[begins : readme.index("For the others none", begins)]
    named = re.findall(r"\(([\d.]+)(?: kgCO2e)?\)", text)
    assert sorted(map(float, named)) == known.sort().to_list()
    assert len(named) == 6
