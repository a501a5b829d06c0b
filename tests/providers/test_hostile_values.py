"""Names, texts and numbers that no vendor should send: rows in quarantine, the others published.

Each goes through the parser of its provider and is staged; files are named by regions.
"""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.aws_pages import LandedPages, line, price_list
from tests.helpers.azure_pages import Landed, item, sku
from tests.helpers.gcp_pages import machine_type, n2_skus
from tests.helpers.releases import rows
from tests.providers.test_hostile_pages import gcp_pages

from hwprices.providers import Pages, get
from hwprices.schemas.tables import TABLES
from hwprices.stage import Staged, stage, validate
from hwprices.storage.layout import is_file_of
from hwprices.storage.store import Store

HOSTILE_NAMES = (
    "../../../etc/passwd",
    "a/b",
    "a\\b",
    "..",
    ".",
    "m5\x1b[31m.large",
    "m5\u202egral.e",
    "m5\u2066.large",
    "m5.large\u200b",
    "line\u2028break",
    "nul\x00",
    "=HYPERLINK('http://x.test')",
    "+1",
    "-1",
    "@SUM(1)",
    "x" * 5_000,
)


def staged_tables(pages: Pages, folder: Path) -> tuple[Staged, dict[str, pl.DataFrame]]:
    """Stage a run, and read what was staged by table."""
    store = Store(str(folder / "root"))
    staged = stage(get(pages.run.provider), pages.run, pages.landing, store, keep=2)
    tables: dict[str, list[pl.DataFrame]] = {}
    for file in staged.files:
        assert is_file_of(file.table, file.key), f"no reader accepts {file.key!a}"
        path = folder / "root" / staged.directory / file.key
        tables.setdefault(file.table, []).append(pl.read_parquet(path))
    return staged, {name: pl.concat(parts) for name, parts in tables.items()}


def is_quarantined(tables: dict[str, pl.DataFrame], column: str) -> bool:
    reasons = set(tables["quarantine"]["reason"])
    return any(reason.startswith(f"check:{column}:") for reason in reasons)


def test_hostile_types_of_aws_are_quarantined(tmp_path: Path) -> None:
    lines = [
        line(SKU=f"S{index}", **{"Instance Type": name})
        for index, name in enumerate(["m5.large", *HOSTILE_NAMES])
    ]
    pages = LandedPages(tmp_path).add("prices", "us-east-1", price_list(lines)).pages()
    _, tables = staged_tables(pages, tmp_path)
    assert set(tables["prices"]["instance_type"]) == {"m5.large"}
    refused = tables["quarantine"].filter(table="prices")
    types = {json.loads(row)["instance_type"] for row in refused["row"]}
    assert types == set(HOSTILE_NAMES)
    assert refused["reason"].str.starts_with("check:instance_type:").all()
    assert not refused["message"].str.contains(r"[\p{Cc}\p{Cf}]").any()


def test_hostile_regions_of_azure_are_quarantined(tmp_path: Path) -> None:
    names = HOSTILE_NAMES
    prices = [
        item(0.1, armRegionName=name, meterId=f"m{index}")
        for index, name in enumerate(["eastus", *names])
    ]
    landed = Landed(tmp_path).retail(prices).skus(sku("Standard_D2s_v3"))
    _, tables = staged_tables(landed.pages(), tmp_path)
    assert set(tables["prices"]["region"]) == {"eastus"}
    refused = tables["quarantine"].filter(table="prices")
    assert refused["occurrences"].sum() == len(names)
    assert refused["region"].null_count() == refused.height


@pytest.mark.parametrize("name", ["../../x-a", "a\u202eb-a", "us-central1\n-a", "=1-a"])
def test_a_hostile_zone_of_gcp_is_quarantined(tmp_path: Path, name: str) -> None:
    region = name.rpartition("-")[0]
    listed = [machine_type("n2-standard-2", 2, 8192)]
    zones = {f"zones/{zone}": {"machineTypes": listed} for zone in ("us-central1-a", name)}
    skus = n2_skus()
    for one in skus:
        one["serviceRegions"] = [*one["serviceRegions"], region]
    types = json.dumps({"items": zones}).encode()
    pages = gcp_pages(tmp_path / "raw", json.dumps({"skus": skus}).encode(), types)
    _, tables = staged_tables(pages, tmp_path)
    assert set(tables["prices"]["region"]) == {"us-central1"}
    assert set(tables["availability"]["region"]) == {"us-central1"}


def test_a_hidden_character_in_a_text_is_quarantined() -> None:
    names = {"us-east-1": "Virginia", "eu-west-1": "Ire\u202eland"}
    regions = rows("regions", *({"region": r, "display_name": name} for r, name in names.items()))
    split = validate.split(regions, TABLES["regions"], {})
    assert split.good["display_name"].to_list() == ["Virginia"]
    assert split.refused["reason"].to_list() == ["check:display_name:hidden_character"]


def test_an_accelerator_with_a_hidden_character_is_quarantined(tmp_path: Path) -> None:
    listed = [
        machine_type("n2-standard-2", 2, 8192),
        machine_type("a2-highgpu-1g", 12, 87040, ("nvidia\u202e-a100", 1)),
    ]
    types = json.dumps({"items": {"zones/us-central1-a": {"machineTypes": listed}}}).encode()
    pages = gcp_pages(tmp_path / "raw", json.dumps({"skus": n2_skus()}).encode(), types)
    _, tables = staged_tables(pages, tmp_path)
    assert set(tables["instance_types"]["instance_type"]) == {"n2-standard-2"}
    assert is_quarantined(tables, "accelerators")
