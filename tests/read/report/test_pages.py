"""The pages of accelerators and machine types, which need no script, and their past."""

import base64
import gzip
import json
import shutil
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.cases import cases
from tests.helpers.terminal import run
from tests.read.report.conftest import HOSTILE, MORE_TYPES

import hwprices
from hwprices.read.report import index, pages, report
from hwprices.read.report.index import changes, history
from hwprices.read.report.pages import Explained, file_name


class Page(HTMLParser):
    """The text of a page, its links and the names of its elements."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text = ""
        self.links: list[str] = []
        self.elements: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.links += [value for name, value in attrs if name == "href" and value]

    def handle_data(self, data: str) -> None:
        self.text += data


def machine(folder: Path, provider: str, name: str) -> dict[str, Any]:
    """Read what the page of a machine type shows."""
    text = (folder / pages.shard(provider, name)).read_text()
    packed = text.removeprefix('machines("').removesuffix('")\n')
    figures: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))[name]
    return figures


@cases("read/file_names")
def test_a_file_name_stays_in_its_folder(name: str, expected: str) -> None:
    assert file_name(name) == expected


def test_every_link_between_pages_leads_to_a_page(folder: Path) -> None:
    missing = set()
    for path in folder.rglob("*.html"):
        if path.parent == folder:
            continue
        for link in Page(path).links:
            target = link.partition("#")[0]
            if not target.startswith(("http", "data:")) and not (path.parent / target).is_file():
                missing.add((path.name, link))
    assert missing == set()


def test_each_accelerator_and_each_sold_machine_has_a_page(dataset, folder) -> None:
    accelerators = dataset.scan("accelerators").collect()["accelerator_id"]
    assert {path.stem for path in (folder / "accelerators").glob("*.html")} == {
        "index",
        *accelerators,
    }
    types = dataset.scan("offers").select("provider", "instance_type").unique().collect()
    for provider, name in types.iter_rows():
        assert machine(folder, provider, name)["offers"]
    assert len(types) > len(MORE_TYPES)


def test_a_report_is_small(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) < 400
    assert sum(path.stat().st_size for path in files) < 12e6


def test_a_machine_page_leads_a_price_back_to_the_vendor(dataset, folder) -> None:
    prices = dataset.scan("prices").filter(pl.col("instance_type") == "p5.48xlarge").collect()
    expected = prices.row(0, named=True)
    p5 = machine(folder, "aws", "p5.48xlarge")
    (price,) = p5["journeys"]["cheapest"]
    assert "55.04 USD/h, as the vendor states it" in price["arithmetic"]
    for name in ("price_id", "raw_sha256", "source_url"):
        assert price[name] == expected[name]
    assert p5["accelerator_id"] == "nvidia-h100-sxm5-80gb"


def test_the_cheapest_price_has_the_vendors_own_line(folder: Path) -> None:
    (line,) = machine(folder, "aws", "p5.48xlarge")["journeys"]["lines"]
    assert ["PricePerUnit", "55.04 <u>"] in line["fields"]


def test_a_placeholder_is_not_the_cheapest_price(dataset: hwprices.Dataset) -> None:
    class WithPlaceholder(hwprices.Dataset):
        def scan(self, table: str) -> pl.LazyFrame:
            rows = super().scan(table)
            if table != "prices":
                return rows
            token = rows.filter(instance_type="p5.48xlarge", purchase_option="on_demand").head(1)
            changes = {"price_id": "token", "effective_hourly": Decimal("0.50")}
            flagged = token.with_columns(
                *(pl.lit(value).alias(name) for name, value in changes.items()),
                flags=pl.lit(["placeholder"]),
            )
            return pl.concat([rows, flagged.cast(rows.collect_schema())])

    offers = dataset.offers.filter(instance_type="p5.48xlarge").collect()
    machine = Explained(WithPlaceholder(dataset.store, "latest"), offers)
    cheapest = machine.of("aws", "p5.48xlarge")["cheapest"]
    assert [price["arithmetic"] for price in cheapest] == ["55.04 USD/h, as the vendor states it"]


def test_what_a_machine_page_lacks_is_told(folder: Path) -> None:
    lines = machine(folder, "gcp", "a3-highgpu-8g")["journeys"]["lines"]
    assert [line["state"] for line in lines] == ["missing"]
    euro = [o for o in machine(folder, "aws", "m5zn.xlarge")["offers"] if o["currency"] == "EUR"]
    assert [offer["on_demand_hourly"] for offer in euro] == [0.77]
    (trn2,) = machine(folder, "aws", "trn2.48xlarge")["offers"]
    assert trn2["on_demand_reason"] == "capacity_block_priced_by_offering"


def test_an_accelerator_page_has_its_cheapest_price_and_source(folder: Path) -> None:
    page = Page(folder / "accelerators" / "nvidia-h100-sxm5-80gb.html")
    assert "$6.88" in page.text
    assert "989.4 TFLOPS" in page.text
    assert "not verified a second time" in page.text or ", verified" in page.text
    assert "../machine.html#gcp/a3-highgpu-8g" in page.links


def test_an_accelerator_page_says_the_size_of_the_measured_system_and_the_lengths(folder) -> None:
    """Llama 2 70B on eight H100, with 294 tokens in and 294 out."""
    page = (folder / "accelerators" / "nvidia-h100-sxm5-80gb.html").read_text(encoding="utf-8")
    rows = [row for row in page.split("<tr>") if "llama2-70b-99<" in row and "Offline" in row]
    assert rows
    assert '<td class="figure">8</td><td class="figure">294, 294</td>' in rows[0]


def test_the_page_has_the_size_and_the_lengths_of_each_measurement(dataset) -> None:
    results = index.benchmarks(dataset, dataset.scan("offers").collect())
    (result,) = [
        row
        for row in results
        if (row["accelerator_id"], row["model"], row["scenario"])
        == ("nvidia-h100-sxm5-80gb", "llama2-70b-99", "Offline")
    ]
    assert (result["accelerator_count"], result["per_accelerator"]) == (8, 3022.575)
    assert (result["input_tokens"], result["output_tokens"]) == (294, 294)


def test_hostile_names_stay_text(folder: Path) -> None:
    assert HOSTILE in Page(folder / "machines" / "index.html").text
    assert HOSTILE not in (folder / pages.shard("aws", HOSTILE)).read_text()
    for path in ("machines/index.html", "accelerators/nvidia-h100-sxm5-80gb.html"):
        assert {"script", "img"}.isdisjoint(Page(folder / path).elements)


def test_a_source_that_is_no_web_address_is_no_link(folder: Path) -> None:
    page = Page(folder / "accelerators" / "nvidia-h100-sxm5-80gb.html")
    assert "javascript:alert(4)" in page.text
    assert not [link for link in page.links if link.startswith("javascript")]


@pytest.mark.usefixtures("no_answers")
def test_the_command_writes_a_folder(dataset: hwprices.Dataset, tmp_path: Path) -> None:
    target = tmp_path / "new" / "report"
    result = run("report", "--root", dataset.store.root, "--out", str(target))
    assert result.exit_code == 0, result.output
    assert str(target / "index.html") in result.output
    assert (target / "index.html").is_file()


@pytest.mark.usefixtures("no_answers")
def test_a_report_inside_its_release_is_no_fault_of_the_release(dataset, tmp_path) -> None:
    shutil.copytree(dataset.store.root, tmp_path / "data")
    opened = hwprices.open(tmp_path / "data")
    before = opened.verify()
    report.write_into_release(opened)
    pages = tmp_path / "data" / "releases" / opened.version / "report"
    assert (pages / "index.html").is_file()
    listed = Page(pages / "machines" / "index.html").text
    assert "p5.48xlarge" in listed
    assert "m5.large" not in listed
    assert opened.verify() == before


def in_euro(offers: pl.DataFrame) -> pl.DataFrame:
    """Price offers in EUR, so that they have no price in USD."""
    usd = [name for name in offers.columns if "_usd_" in name]
    return offers.with_columns(
        pl.lit("EUR").alias("currency"),
        *(pl.lit(None, offers.schema[name]).alias(name) for name in usd),
    )


@pytest.mark.usefixtures("no_answers")
def test_an_accelerators_price_in_another_currency_keeps_it(dataset, tmp_path) -> None:
    shutil.copytree(dataset.store.root, tmp_path / "data")
    opened = hwprices.open(tmp_path / "data")
    (path,) = opened.files("offers")
    in_euro(pl.read_parquet(path).filter(provider="aws")).write_parquet(path)
    report.write(opened, tmp_path / "report")
    text = Page(tmp_path / "report" / "accelerators" / "nvidia-h100-sxm5-80gb.html").text
    assert "EUR 6.88/h" in text
    assert "EUR 55.04" in text
    assert "$" not in text.partition("The device")[0]


def test_a_price_in_usd_goes_before_other_currencies(dataset: hwprices.Dataset) -> None:
    offers = dataset.offers.filter(pl.col("instance_type") == "p5.48xlarge").collect()
    cheaper = in_euro(offers).with_columns(pl.col("on_demand_hourly") / 2)
    both = pl.concat([cheaper.cast(offers.schema), offers])
    (line,) = pages.rental_prices(both)
    assert line["prices"]["On-demand"]["currency"] == "USD"
    assert line["prices"]["On-demand"]["amount"] == Decimal("6.88")
    (machine,) = pages.machine_types(both)
    assert (machine["amount"], machine["currency"]) == (Decimal("55.04"), "USD")


def test_community_hosts_have_a_line_of_their_own(dataset: hwprices.Dataset, folder: Path) -> None:
    """RunPod asks 3.29 in its data centers; the 2.69 of community hosts is not a price of these."""
    offers = dataset.offers.filter(accelerator_id="nvidia-h100-sxm5-80gb").collect()
    lines = [
        (line["provider"], line["private_host"], line["prices"]["On-demand"]["amount"])
        for line in pages.rental_prices(offers)
    ]
    assert lines == [
        *(("runpod", False, Decimal("3.29")), ("aws", False, Decimal("6.88"))),
        *(("gcp", False, Decimal("11.0612499878")), ("azure", False, Decimal("12.29"))),
        ("runpod", True, Decimal("2.69")),
    ]
    text = Page(folder / "accelerators" / "nvidia-h100-sxm5-80gb.html").text
    assert "RunPod community" in text


def test_the_history_has_each_value_of_a_price(dataset: hwprices.Dataset) -> None:
    rows = history(dataset).filter(instance_type="p5.48xlarge").sort("valid_from")
    assert rows["usd"].to_list() == [Decimal("7.5"), Decimal("6.88")]
    assert rows["valid_to"][0] == rows["valid_from"][1]
    assert rows["start_reason"][1] == "restated"


def test_the_changes_are_those_since_the_release_before(dataset: hwprices.Dataset) -> None:
    since = changes(dataset)
    assert [row["instance_type"] for row in since["prices"]] == ["p5.48xlarge"]
    assert since["prices"][0]["change_percent"] < 0
    assert since["prices"][0]["change"] == "restated"
    assert since["lines"] == ["Prices: 1 restated by us."]
