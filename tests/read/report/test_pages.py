"""The pages of accelerators and machine types, which need no script."""

import shutil
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from tests.read.report.conftest import HOSTILE, MORE_TYPES
from typer.testing import CliRunner

import hwprices
from hwprices.cli import app
from hwprices.read.report import index, pages, report
from hwprices.read.report.journey import Explained
from hwprices.read.report.pages import file_name


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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("p5.48xlarge", "p5.48xlarge"),
        ("Standard_NC24ads_A100_v4", "Standard_NC24ads_A100_v4"),
        ("8x NVIDIA H100", "8x~20NVIDIA~20H100"),
        ("../../etc/passwd", "~2e.~2f..~2fetc~2fpasswd"),
        ("a\\b:ü", "a~5cb~3a~c3~bc"),
        ("..", "~2e."),
    ],
)
def test_a_file_name_stays_in_its_folder(name: str, expected: str) -> None:
    assert file_name(name) == expected


def test_every_link_between_pages_leads_to_a_page(folder: Path) -> None:
    missing = set()
    for path in folder.rglob("*.html"):
        if path.parent == folder:
            continue
        for link in Page(path).links:
            target = link.partition("#")[0]
            if not target.startswith("http") and not (path.parent / target).is_file():
                missing.add((path.name, link))
    assert missing == set()


def test_each_accelerator_and_each_sold_machine_has_a_page(
    dataset: hwprices.Dataset, folder: Path
) -> None:
    accelerators = dataset.scan("accelerators").collect()["accelerator_id"]
    assert {path.stem for path in (folder / "accelerators").glob("*.html")} == {
        "index",
        *accelerators,
    }
    types = dataset.scan("offers").select("provider", "instance_type").unique().collect()
    for provider, name in types.iter_rows():
        assert (folder / "machines" / provider / f"{file_name(name)}.html").is_file()
    assert len(types) > len(MORE_TYPES)


def test_a_machine_page_leads_a_price_back_to_the_vendor(
    dataset: hwprices.Dataset, folder: Path
) -> None:
    page = Page(folder / "machines" / "aws" / "p5.48xlarge.html")
    price = (dataset.scan("prices").filter(pl.col("instance_type") == "p5.48xlarge").collect()).row(
        0, named=True
    )
    assert "$55.04" in page.text
    assert "55.04 USD/h, as the vendor states it" in page.text
    assert f"hwprices explain {price['price_id']}" in page.text
    assert price["raw_sha256"] in page.text
    assert price["source_url"] in page.links
    assert "../../accelerators/nvidia-h100-sxm5-80gb.html" in page.links


def test_the_cheapest_price_has_the_vendors_own_line(folder: Path) -> None:
    page = Page(folder / "machines" / "aws" / "p5.48xlarge.html")
    assert "PricePerUnit 55.04 <u>" in " ".join(page.text.split())
    assert "u" not in page.elements


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
    cheapest = machine.of("aws", "p5.48xlarge").cheapest
    assert [price["effective_hourly"] for price in cheapest] == [Decimal("55.04")]


def test_without_landed_pages_the_command_is_named(folder: Path) -> None:
    text = Page(folder / "machines" / "gcp" / "a3-highgpu-8g.html").text
    assert "Landed pages are not beside this release" in text
    assert "hwprices explain" in text


def test_a_price_in_another_currency_keeps_it(folder: Path) -> None:
    assert "EUR 0.77 on demand" in Page(folder / "machines" / "aws" / "m5zn.xlarge.html").text


def test_a_missing_price_has_its_reason(folder: Path) -> None:
    text = Page(folder / "machines" / "aws" / "trn2.48xlarge.html").text
    assert "capacity block priced by offering" in text


def test_an_accelerator_page_has_its_cheapest_price_and_source(folder: Path) -> None:
    page = Page(folder / "accelerators" / "nvidia-h100-sxm5-80gb.html")
    assert "$6.88" in page.text
    assert "989.4 TFLOPS" in page.text
    assert "not verified a second time" in page.text or ", verified" in page.text
    assert "../machines/gcp/a3-highgpu-8g.html" in page.links


def test_an_accelerator_page_says_the_size_of_the_measured_system_and_the_lengths(
    folder: Path,
) -> None:
    """Llama 2 70B on eight H100, with 294 tokens in and 294 out."""
    page = (folder / "accelerators" / "nvidia-h100-sxm5-80gb.html").read_text(encoding="utf-8")
    rows = [row for row in page.split("<tr>") if "llama2-70b-99<" in row and "Offline" in row]
    assert rows
    assert '<td class="figure">8</td><td class="figure">294, 294</td>' in rows[0]


def test_the_page_has_the_size_and_the_lengths_of_each_measurement(
    dataset: hwprices.Dataset,
) -> None:
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
    page = Page(folder / "machines" / "aws" / f"{file_name(HOSTILE)}.html")
    assert HOSTILE in page.text
    assert {"script", "img", "svg"}.isdisjoint(page.elements)
    for path in ("machines/index.html", "accelerators/nvidia-h100-sxm5-80gb.html"):
        assert {"script", "img", "svg"}.isdisjoint(Page(folder / path).elements)


def test_a_source_that_is_no_web_address_is_no_link(folder: Path) -> None:
    page = Page(folder / "accelerators" / "nvidia-h100-sxm5-80gb.html")
    assert "javascript:alert(4)" in page.text
    assert not [link for link in page.links if link.startswith("javascript")]


def test_the_command_writes_a_folder(dataset: hwprices.Dataset, tmp_path: Path) -> None:
    target = tmp_path / "new" / "report"
    result = CliRunner().invoke(app, ["report", "--root", dataset.store.root, "--out", str(target)])
    assert result.exit_code == 0, result.output
    assert str(target / "index.html") in result.output
    assert (target / "index.html").is_file()


def test_a_report_inside_its_release_is_no_fault_of_the_release(
    dataset: hwprices.Dataset, tmp_path: Path
) -> None:
    shutil.copytree(dataset.store.root, tmp_path / "data")
    opened = hwprices.open(tmp_path / "data")
    before = opened.verify()
    report.write_into_release(opened)
    pages = tmp_path / "data" / "releases" / opened.version / "report"
    assert (pages / "index.html").is_file()
    assert (pages / "machines" / "aws" / "p5.48xlarge.html").is_file()
    assert not (pages / "machines" / "aws" / "m5.large.html").exists()
    assert opened.verify() == before


def in_euro(offers: pl.DataFrame) -> pl.DataFrame:
    """Price offers in EUR, so that they have no price in USD."""
    usd = [name for name in offers.columns if "_usd_" in name]
    return offers.with_columns(
        pl.lit("EUR").alias("currency"),
        *(pl.lit(None, offers.schema[name]).alias(name) for name in usd),
    )


def test_an_accelerators_price_in_another_currency_keeps_it(
    dataset: hwprices.Dataset, tmp_path: Path
) -> None:
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
    assert line["prices"]["On demand"]["currency"] == "USD"
    assert line["prices"]["On demand"]["amount"] == Decimal("6.88")
    (machine,) = pages.machine_types(both)
    assert (machine["amount"], machine["currency"]) == (Decimal("55.04"), "USD")


def test_private_people_have_a_line_of_their_own(dataset: hwprices.Dataset, folder: Path) -> None:
    """RunPod asks 3.29 in its data centers; the 2.69 of community hosts is not a price of these."""
    offers = dataset.offers.filter(provider="runpod").collect()
    lines = [
        (line["private_host"], line["prices"]["On demand"]["amount"])
        for line in pages.rental_prices(offers)
    ]
    assert sorted(lines) == [(False, Decimal("3.29")), (True, Decimal("2.69"))]
    text = Page(folder / "accelerators" / "nvidia-h100-sxm5-80gb.html").text
    assert "RunPod, private people" in text
