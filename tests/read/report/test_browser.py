"""The page as a person uses it, in Chromium: from a file and from a server, wide and narrow."""

import csv
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers.nightly import NIGHTLY
from tests.read.report.conftest import H100_AT_RUNPOD, HOSTILE

import hwprices
from hwprices.read.find import search as searching
from hwprices.read.find.names import ReleaseWords
from hwprices.read.find.request import request
from hwprices.read.ownership import Ownership, owned
from hwprices.read.recommend.question import Question
from hwprices.read.recommend.recommend import recommend
from hwprices.read.report.columns import sent
from hwprices.read.report.index import MAX_MACHINES, too_old_to_buy

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VIEWS = (
    "offers",
    "offers?open=aws%7Cus-east-1%7Cp5.48xlarge",
    "compare?offers=aws%7Cus-east-1%7Cp5.48xlarge,gcp%7Cus-central1%7Ca3-highgpu-8g",
    "offers?map=open&region=us-east-1",
    "machine?model=llama-3.1-8b",
    "accelerators",
    "charts",
    "release",
)

STATIC = (
    "accelerators/index.html",
    "accelerators/nvidia-h100-sxm5-80gb.html",
    "machine.html#aws/p5.48xlarge",
    "machines/index.html",
)

CELLS = 200
WIDE = {"width": 1360, "height": 850}
GRAVE = {"serious", "critical"}

SIZES = """() => [...new Set(Array.from(
    document.querySelectorAll("main *:not(option)"), (text) => getComputedStyle(text).fontSize
))]"""
"""The sizes of text on a page."""

AXE = {"preload": False, "resultTypes": ["violations"]}
"""axe would fetch the style sheet again, which the policy of the pages forbids."""


class Visit:
    """A page that is open, and what went wrong on it."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.start()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._console)
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self.requests.append(request.url))

    def start(self) -> None:
        """Forget what was before."""
        self.faults: list[str] = []
        self.requests: list[str] = []

    def check(self) -> None:
        """There must have been no fault and no request to elsewhere."""
        assert self.faults == []
        own = (self.address, "data:", "blob:", "about:")
        assert [url for url in self.requests if not url.startswith(own)] == []

    def _console(self, message: Any) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(message.text)

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def go(self, view: str) -> Any:
        """Open a view of index.html."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/index.html#{view}")
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def found(self) -> int:
        """Read how many offers pass the filters."""
        return int(self.page.locator(".found b").inner_text().replace(",", ""))

    def column(self, heading: str) -> list[str]:
        """Read the cells of a column of the table that is shown."""
        headings = self.page.locator(".list thead th").all_inner_texts()
        place = [text.split("\n")[0].strip(" ▲▼") for text in headings].index(heading)
        cells = self.page.locator(f".list tbody tr > :nth-child({place + 1})").all_inner_texts()
        return [text.split("\n")[0] for text in cells]


@contextmanager
def visit(browser: Any, address: str, **options: Any) -> Iterator[Visit]:
    """Open a page, and check it at the end."""
    context = browser.new_context(**{"viewport": WIDE, **options})
    opened = Visit(context.new_page(), address)
    yield opened
    context.close()
    opened.check()


@pytest.fixture(scope="module")
def window(browser: Any, folder: Path) -> Iterator[Visit]:
    with visit(browser, folder.as_uri()) as opened:
        yield opened


@pytest.fixture
def wide(window: Visit) -> Iterator[Visit]:
    """The page opened from a file in a wide window, which the tests share: it stores nothing."""
    window.start()
    window.page.set_viewport_size(WIDE)
    yield window
    window.page.goto("about:blank")
    window.check()


@pytest.fixture(scope="module")
def offers(dataset: hwprices.Dataset) -> pl.DataFrame:
    return dataset.scan("offers").collect()


ALL = "offers?rows=machines&community=shown"  # Every offer, one in each line


def test_filters_leave_the_offers_that_the_parquet_has(wide: Visit, offers: pl.DataFrame) -> None:
    page = wide.go(ALL)
    assert wide.found() == offers.height
    page.get_by_role("checkbox", name=re.compile("^H100")).first.check()
    h100 = offers.filter(pl.col("accelerator_id").str.starts_with("nvidia-h100"))
    assert wide.found() == h100.height == len(wide.column("Name"))
    page.locator("input[name=price_to]").fill("60")
    assert wide.column("Name") == [H100_AT_RUNPOD, H100_AT_RUNPOD, "p5.48xlarge"]
    page.get_by_role("button", name="Clear all").click()
    page.locator("input[name=q]").fill("trainium2")
    assert wide.column("Name") == ["trn2.48xlarge"]
    page.get_by_role("button", name="Remove filter Trainium2").click()
    page.locator("select[name=option]").select_option("spot_usd_per_hour")
    assert wide.found() == offers["spot_usd_per_hour"].count()


def test_the_first_view_is_gpus_by_price_without_community_hosts(wide: Visit) -> None:
    """RunPod 3.29, AWS 55.04 / 8, Google Cloud 88.49 / 8, Azure 98.32 / 8."""
    page = wide.go("offers")
    prices = wide.column("On-demand")
    shown = zip(wide.column("Name"), prices, strict=True)
    of_h100 = [price for name, price in shown if name == "H100 SXM5 80 GB"]
    assert of_h100 == ["$3.29", "$6.88", "$11.06", "$12.29"]
    amounts = [float(text.strip("$")) for text in prices if text.startswith("$")]
    assert amounts == sorted(amounts)
    unit = page.locator(".list td.sorted").first.get_attribute("data-unit")
    assert unit == "/GPU-h", "a card has no heading"
    hidden = page.get_by_role("button", name=re.compile("^Community hosts: 1 hidden"))
    hidden.click()
    assert "$2.69" in wide.column("On-demand")
    lines = page.locator(".list tbody tr")
    before = lines.count()
    lines.filter(has_text="AWS").filter(has_text="H100").locator("td").last.click()
    assert "p5.48xlarge" in wide.column("Name")
    assert lines.count() == before + 1


def test_prices_are_for_a_time_a_part_a_system_and_an_option(wide: Visit) -> None:
    page = wide.go("offers?q=p5.48xlarge")
    assert wide.column("On-demand") == ["$55.04"]
    for name, value, expected in (
        *(("period", "month", "$40,179"), ("period", "year", "$482,150")),
        *(("per", "gpu", "$60,269"), ("period", "hour", "$6.88")),
    ):
        page.locator(f".switch label:has(input[name={name}][value={value}])").click()
        assert wide.column("On-demand") == [expected]
    page.locator("select[name=option]").select_option("spot_usd_per_hour")
    assert page.locator(".list tbody tr").count() == 0


def test_an_address_opens_the_same_view_again(wide: Visit) -> None:
    page = wide.go(ALL)
    page.get_by_role("checkbox", name=re.compile("^Azure")).check()
    page.locator("input[name=vcpus_from]").fill("90")
    shown, address = wide.column("Name"), page.evaluate("location.hash")
    wide.go(address.removeprefix("#"))
    assert wide.column("Name") == shown == ["Standard_ND96isr_H100_v5"]


def test_an_offer_opens_and_the_back_button_closes_it(wide: Visit) -> None:
    page = wide.go("offers?q=p5.48")
    page.get_by_role("link", name="p5.48xlarge", exact=True).click()
    dialog = page.locator("dialog[open]")
    assert "$55.04" in dialog.inner_text()
    assert "hwprices explain p5.48xlarge --region us-east-1" in dialog.inner_text()
    page.go_back()
    page.wait_for_selector("dialog[open]", state="detached")
    assert wide.column("Name") == ["p5.48xlarge"]


@pytest.mark.parametrize("width", [1000, 1360])
def test_the_name_and_the_sorted_column_stay_in_view(wide: Visit, width: int) -> None:
    page = wide.go("offers?sort=on_demand_usd_per_hour")
    page.set_viewport_size({"width": width, "height": 700})
    frame = page.locator(".list .scroll")
    for left in (0, 500):
        frame.evaluate("(frame, left) => frame.scrollTo(left, 100)", left)
        edges = frame.bounding_box()
        for cell in ("th.sorted", "td.sorted >> nth=8"):
            box = page.locator(f".list {cell}").bounding_box()
            assert edges["x"] <= box["x"] < box["x"] + box["width"] <= edges["x"] + edges["width"]
        name, heading = (
            page.locator(f".list {part} th.machine").first.bounding_box()
            for part in ("tbody", "thead")
        )
        assert (name["x"], name["width"]) == (heading["x"], heading["width"])


def test_a_drawer_has_the_ladder_the_history_and_similar_machines(wide: Visit) -> None:
    """p5.48xlarge was 60.00 before, and a3-highgpu-8g has as many H100 for 88.49."""
    page = wide.go("offers?open=aws%7Cus-east-1%7Cp5.48xlarge")
    text = " ".join(page.locator("dialog[open]").inner_text().split())
    assert "On-demand $55.04 $40,179" in text
    assert "$7.50 on 1 Aug 2026, $6.88 since 2 Aug 2026" in text
    assert "Google Cloud a3-highgpu-8g, us-central1 $88.49" in text
    assert "on-demand USD 55.04 /h, seen" in text
    page.get_by_role("link", name=re.compile("Compare with similar")).click()
    assert "a3-highgpu-8g" in page.locator("table.compare").inner_text()


def test_the_keyboard_alone_opens_and_closes_an_offer(wide: Visit) -> None:
    page = wide.go("offers?q=g6.xlarge")
    page.get_by_role("link", name="g6.xlarge", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert "g6.xlarge" in page.locator("dialog[open]").inner_text()
    assert "open=" in page.url
    page.keyboard.press("Escape")
    # the address follows when the browser has told the page that the dialog is closed
    page.wait_for_url(lambda url: "open=" not in url)
    assert page.locator("dialog[open]").count() == 0


def test_selected_offers_are_compared(wide: Visit) -> None:
    page = wide.go("offers?q=h100")
    for name in ("p5.48xlarge", "a3-highgpu-8g"):
        page.get_by_role("checkbox", name=re.compile(f"^Compare {name} ")).check()
    page.get_by_role("link", name="Compare").click()
    table = page.locator("table.compare")
    assert re.search(r"\$55\.04 /h\s*\(lowest\)", table.inner_text())
    assert "$88.49" in table.inner_text()
    page.go_back()
    assert page.locator(".tray").inner_text().startswith("2 of 6")


def test_two_hundred_cells_of_the_csv_equal_the_parquet(wide, offers, tmp_path) -> None:
    names = sent(offers)
    page = wide.go(f"{ALL}&columns=" + ",".join(names))
    cells = {
        (row["provider"], row["region"], row["instance_type"]): row for row in saved(page, tmp_path)
    }
    assert len(cells) == offers.height
    drawn = random.Random(15)
    rows = offers.to_dicts()
    for _ in range(CELLS):
        row = drawn.choice(rows)
        name = drawn.choice(names)
        shown = cells[row["provider"], row["region"], row["instance_type"]][name]
        assert same(shown, row[name]), (name, shown, row[name])


def saved(page: Any, folder: Path) -> list[dict[str, str]]:
    """Save what is shown as CSV and read the file."""
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    download.value.save_as(folder / "offers.csv")
    with (folder / "offers.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def same(shown: str, value: Any) -> bool:
    """Compare a cell of the CSV with a value of the Parquet."""
    if value is None or value == []:
        return shown == ""
    if isinstance(value, list):
        return shown == ", ".join(value)
    if isinstance(value, int | float) or hasattr(value, "as_tuple"):
        return float(shown) == float(value)
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return shown[:19] == text[:19] if hasattr(value, "isoformat") else shown == text


def test_a_figure_says_where_it_comes_from(wide: Visit, dataset: hwprices.Dataset) -> None:
    page = wide.go("accelerators?devices=nvidia-l4,nvidia-h200-sxm")
    line = page.locator("table.compare tr", has=page.locator("th", has_text=re.compile("^BF16$")))
    line.first.get_by_role("button").first.click()
    text = page.locator("dialog.source").inner_text()
    assert "121" in text
    l4 = dataset.scan("accelerators").filter(pl.col("accelerator_id") == "nvidia-l4").collect()
    assert l4["source_url"][0] in text
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove H200 SXM 141 GB").click()
    assert page.locator("table.compare thead th").count() == 1


def test_owning_costs_what_python_computes(wide: Visit, dataset: hwprices.Dataset) -> None:
    page = wide.go("charts?machine=nvidia-dgx-h100")
    for utilisation, usd_per_kwh in ((0.5, 0.13), (0.9, 0.3)):
        for name, value in (("utilisation", utilisation), ("usd_per_kwh", usd_per_kwh)):
            page.locator(f"input[name={name}]").fill(str(value))
        ownership = Ownership(utilisation=utilisation, usd_per_kwh=usd_per_kwh)
        machine = owned(dataset, ownership).filter(device_id="nvidia-dgx-h100")
        expected = f"costs its owner ${float(machine['tco_usd_per_hour'][0]):,.2f} per hour"
        assert expected in page.locator(".chart", has_text="Owning vs renting").inner_text()


def test_the_cheapest_offers_are_those_of_data_centers(wide: Visit) -> None:
    """RunPod's data centers ask 8 x 3.29 for as many H100 as a DGX has, others 8 x 2.69."""
    page = wide.go("charts?machine=nvidia-dgx-h100&device=nvidia-h100")
    own = page.locator(".chart", has_text="Owning vs renting").locator(".words").inner_text()
    assert "against on-demand at $26.32" in own
    value = page.locator(".chart", has_text="Price vs efficiency")
    value.get_by_text("As a table").click()
    h100 = value.locator("tr", has_text="H100 SXM5")
    assert "$3.33" in h100.inner_text(), "3.29 USD over 989.4 TFLOPS"
    rent = page.locator(".chart", has_text="What one").locator(".words").inner_text()
    assert "RunPod $3.29 on demand" in rent
    assert "RunPod community $2.69 on demand" in rent
    lines = wide.go("accelerators?devices=nvidia-h100-sxm5-80gb").locator("table.compare tr")
    shown = [" ".join(text.split()) for text in lines.all_inner_texts()]
    assert "RunPod On-demand $3.29" in shown
    assert "RunPod community On-demand $2.69" in shown


def test_prices_of_tokens_and_measurements_say_the_lengths_and_the_system(wide: Visit) -> None:
    """Llama 2 70B: 294 tokens in and 294 out, on eight H100."""
    page = wide.go("accelerators?devices=nvidia-h100-sxm5-80gb")
    line = page.locator("table.compare tr", has_text=re.compile("llama2-70b .*tokens in"))
    assert "294 tokens in, 294 out" in line.inner_text()
    page.get_by_role("button", name=re.compile("MLPerf results")).click()
    measured = page.locator("table.compare tr", has_text="llama2-70b-99, Offline")
    measured.get_by_role("button").click()
    text = page.locator("dialog.source").inner_text()
    assert "8 accelerators" in text
    assert "294 tokens in, 294 out" in text


def test_which_machine_is_what_python_answers(wide: Visit, dataset: hwprices.Dataset) -> None:
    page = wide.go("machine")
    for model in ("llama-3.1-8b", "gpt-oss-120b"):
        page.locator(".answer select").select_option(model)
        assert page.url.endswith(f"#machine?model={model}")
        answer = recommend(Question(model), dataset=dataset).drop_nulls("rank")
        answer = answer.filter(~pl.col("machine").is_in(too_old_to_buy(dataset)))
        answer = answer.filter(pl.col("rank") <= MAX_MACHINES)
        for where, heading in (("cloud", "To rent"), ("local", "To buy")):
            expected = answer.filter(where=where)
            table = page.get_by_role("region", name=heading)
            assert table.locator("tbody tr").count() == expected.height
            basis = table.locator("tbody tr td:nth-last-of-type(2)").all_inner_texts()
            assert [text.split()[0] for text in basis] == expected["basis"].to_list()
        assert answer["machine"][0] in page.locator(".answer .words").inner_text()
        assumed = page.locator(".assumed li").all_inner_texts()
        assert assumed == answer["assumed"][0].split("; ")
        assert page.locator(".answer pre").inner_text() == f"hwprices recommend {model}"


def test_an_amount_is_typed_as_people_type_it(wide: Visit) -> None:
    """The box went 1, 10, 10, 510: its text was replaced while it was typed."""
    page = wide.go("offers")
    for name, amount in (("price_to", "10.5"), ("price_from", "0.05")):
        page.locator(f"input[name={name}]").press_sequentially(amount)
        assert page.locator(f"input[name={name}]").input_value() == amount
    assert page.evaluate("location.hash") == "#offers?price=0.05..10.5"


def test_a_way_to_buy_is_sorted_by_its_price(wide: Visit, offers: pl.DataFrame) -> None:
    wide.go(f"{ALL}&option=spot_usd_per_hour")
    spot = offers.drop_nulls("spot_usd_per_hour").sort("spot_usd_per_hour", descending=False)
    assert spot["spot_usd_per_hour"].n_unique() == spot.height > 1
    assert wide.column("Name") == spot["instance_type"].to_list()


QUESTIONS = """
    8xh100; 8 h100; H100x8; 8x h100 80 vcpu; h100 80 vcpus; h100 sxm; 2x h100; gpu 80gb; gpus;
    8x gpu; cpu; trainium2; google;
    aws h100; north_america; north america; us; us-east; useast; us-east-1; iowa; germany; p5;
    p5.48xlarge; nd96isr h100 v5; m5; arm; x86; 4 vcpu; 16cpu; 192 cores 2048gb; spot; on demand
    h100; spot l4; on demand under 30$/h; on demand h100 < 60; on demand below 3 usd; cheapest
    h100 in virginia; on demand h100 under 7$ per gpu; on demand < 6000 a month per GPU; us east;
    windows; 1y; all upfront; shared h100; a100 80 gb sxm4; l4 l40s; h100 nvidia sxm; h100 gpu
    nvidia; l4 frankfurt germany; l4 europe germany; h100 on demand x8; x8 h100; 80gb gpu; 80 gb
    a100; hopper; l4 h100sxm; h100 nvlink; h100 1tb; gpu more than 24gb; trainium; p5 vs
    l4; amazon h100; cheapest vm arm; p5.48xlarge vs l4; h100s; 8 h100s; h100 (8x); H-100; single
    h100; hgx h100; nvlink h100; fp8 gpu; fp8 us-east; h100 server; l4 24gb; nvidia h100 80gb; l4 8x
    h100; savings plans; ubuntu; g6 vs h100; on demand h100 under 43,800 a month; trainium 2
"""


def test_a_search_is_read_as_find_reads_it(wide, dataset, offers) -> None:
    """The same offers as `hwprices find` has, whether their price is known or not."""
    countries = [name for name in offers["country"].drop_nulls().unique() if name != HOSTILE]
    page = wide.go(f"{ALL}&country={','.join([*countries, '(none)'])}")
    names = ReleaseWords.of(dataset)
    key = ["provider", "region", "instance_type"]
    for question in (" ".join(words.split()) for words in QUESTIONS.split(";")):
        search = request(names, question)
        listed = searching.priced(searching.prices(dataset, search), search)
        expected = listed.select(key).unique().collect()
        page.locator("input[name=q]").fill(question)
        assert (question, wide.found()) == (question, expected.height)
        assert page.locator(".list .note").count() == 0


def test_a_word_that_is_not_understood_has_suggestions(wide: Visit) -> None:
    page = wide.go("offers?q=h10o+spot")
    page.locator(".note").get_by_role("button", name="h100").click()
    assert page.locator("input[name=q]").input_value() == "h100 spot"
    chips = page.locator(".chips").inner_text()
    assert "H100 SXM5 80 GB" in chips or "GPU models" in chips
    assert "spot" in chips


@pytest.mark.parametrize("word", ["byol", "sql_web", "dedicated", "any tenancy"])
def test_a_word_for_prices_that_are_not_on_the_page_says_so(wide: Visit, word: str) -> None:
    note = wide.go(f"offers?q=h100+{word.replace(' ', '+')}").locator(".note").inner_text()
    assert note.startswith(f"“{word}” is left out: prices here are of shared tenancy")


def test_a_place_that_is_not_stated_is_a_choice(wide, offers, dataset) -> None:
    regions = dataset.scan("regions").select("provider", "region", "continent").collect()
    placed = offers.join(regions, on=["provider", "region"], how="left")
    page = wide.go(f"{ALL}&continent=(none)")
    assert wide.found() == placed["continent"].null_count() > 0
    assert "Continent: not stated" in page.locator(".chips").inner_text()


def test_prices_in_another_currency_come_last_and_are_counted_when_left_out(wide, offers) -> None:
    euro = offers.filter(currency="EUR").height
    assert euro > 0
    page = wide.go(f"{ALL}&price=0..1000&currency=EUR")
    assert wide.found() == 0
    assert f"{euro} priced in another currency" in page.locator(".bar").inner_text()
    wide.go("offers?sort=on_demand_usd_per_hour&q=m5zn.xlarge")
    assert wide.column("On-demand")[-1] == "EUR 0.77"


def test_the_file_has_the_columns_that_complete_those_shown(wide: Visit, tmp_path: Path) -> None:
    page = wide.go("offers?q=p5.48xlarge")
    (row,) = saved(page, tmp_path)
    assert [row[name] for name in ("accelerator_count", "currency", "on_demand_hourly")] == [
        *("8", "USD", "55.04")
    ]


def test_a_view_is_found_as_it_was_left(wide: Visit) -> None:
    page = wide.go("offers?q=h100")
    shown = wide.found()
    page.get_by_role("checkbox", name=re.compile("^Compare p5.48xlarge ")).check()
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("link", name="Back to the table").click()
    assert wide.found() == shown
    page.get_by_role("link", name="Charts").click()
    page.locator("input[name=utilisation]").fill("0.9")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("input[name=utilisation]").input_value() == "0.9"


def test_no_more_than_six_are_ticked(wide: Visit, offers: pl.DataFrame) -> None:
    assert offers.height > 6
    page = wide.go(ALL)
    boxes = page.locator(".list tbody input")
    for position in range(6):
        boxes.nth(position).check()
    assert boxes.nth(6).is_disabled()
    assert boxes.nth(0).is_checked()
    wide.go("accelerators?devices=nvidia-l4")
    page.get_by_role("button", name="Remove L4").click()
    assert page.locator("table.compare thead th").count() == 0


def test_the_columns_menu_closes_and_leaves_the_table_alone(wide: Visit) -> None:
    page = wide.go("offers")
    menu = page.locator("details.menu")
    menu.locator("summary").click()
    menu.locator("legend").first.click()
    assert menu.get_attribute("open") is not None
    page.keyboard.press("Escape")
    assert menu.get_attribute("open") is None
    menu.locator("summary").click()
    page.locator(".found").click()
    assert menu.get_attribute("open") is None


@pytest.mark.parametrize("view", ["offers", "machine", "charts", "release"])
def test_the_first_link_leads_past_tabs_and_filters(wide: Visit, view: str) -> None:
    page = wide.go(view)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    focused = page.evaluate("document.activeElement.closest('main') !== null")
    assert focused
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.filters, nav, .top') === null")


def test_models_of_one_line_have_charts_of_their_own(wide: Visit) -> None:
    """TPU v5e and v6e are two accelerators, H100 SXM and H100 NVL one."""
    page = wide.go("charts")
    names = page.locator("select[name=device]").first.locator("option").all_inner_texts()
    assert "H100" in names[0]
    assert not {"TPU", "RTX"} & set(names)


@pytest.mark.parametrize("view", ["machine?model=constructor", "charts?format=toString"])
def test_names_of_the_scripts_own_are_no_choices(wide: Visit, view: str) -> None:
    text = wide.go(view).locator("main").inner_text()
    assert "could not be opened" not in text
    assert "native code" not in text
    assert "NaN" not in text


def test_the_map_filters_by_the_regions_of_a_place(wide: Visit, offers: pl.DataFrame) -> None:
    page = wide.go(ALL)
    page.get_by_role("button", name="Map").click()
    iowa = page.get_by_role("checkbox", name=re.compile("AWS us-west-9"))
    iowa.hover()
    assert "Google Cloud us-central1" in page.locator(".tip").inner_text()
    iowa.click()
    of_place = offers.filter(pl.col("region").is_in(["us-west-9", "us-central1"]))
    assert wide.found() == of_place.height
    assert "us-west-9" in page.evaluate("decodeURIComponent(location.hash)")
    iowa.press("ArrowRight")
    page.keyboard.press("Space")
    virginia = offers.filter(region="eastus")
    assert wide.found() == of_place.height + virginia.height
    assert "eu-1" in page.locator(".map .hint").inner_text()


def test_a_dot_of_a_chart_says_what_it_is(wide: Visit) -> None:
    page = wide.go("charts")
    chart = page.locator(".chart").first
    chart.locator("circle[fill='var(--series-1)']:not(.legend circle)").last.hover()
    tip = chart.locator(".plot-frame svg")
    assert re.search(r"\$[0-9.]+/h", tip.text_content())
    assert "USD per" in chart.locator(".words").inner_text()
    chart.get_by_text("As a table").click()
    assert "p5.48xlarge" in chart.locator("table").inner_text()


def test_the_history_is_drawn_once_there_are_two_releases(wide: Visit) -> None:
    page = wide.go("charts?device=nvidia-h100")
    chart = page.locator(".chart", has_text="over time")
    assert "AWS from $7.50 on 1 Aug 2026 to $6.88" in chart.locator(".words").inner_text()
    assert "A dashed ring is a restatement" in chart.locator(".words").inner_text()
    assert "our reading changed" in wide.go("release").locator("main").inner_text()


def test_the_release_says_what_it_is(wide: Visit, dataset: hwprices.Dataset) -> None:
    text = wide.go("release").locator("main").inner_text()
    assert dataset.version in text
    assert "not today's prices" in text
    assert "capacity block priced by offering" in text
    assert "CC BY 4.0" in text


def test_a_provider_has_its_age_in_whole_days_and_the_machines_and_regions_of_its_offers(
    wide: Visit, dataset: hwprices.Dataset, offers: pl.DataFrame
) -> None:
    created = datetime.fromisoformat(dataset.manifest["created_at"])
    line = wide.go("release").locator("main table tbody tr")
    for number, (name, entry) in enumerate(dataset.manifest["providers"].items()):
        cells = line.nth(number).locator("td").all_inner_texts()
        days = (created - datetime.fromisoformat(entry["observed_from"])).days
        assert cells[2] == f"up to {days} days"
        own = offers.filter(provider=name)
        assert cells[4] == f"{own['instance_type'].n_unique():,}"
        assert cells[5].split()[0] == str(own["region"].n_unique())


def test_hostile_names_are_shown_and_never_run(wide: Visit) -> None:
    page = wide.go("offers?q=onerror")
    assert wide.column("Name") == [HOSTILE]
    page.locator(".list .machine a").click()
    assert page.locator("dialog[open] h2").inner_text() == HOSTILE
    page.keyboard.press("Escape")
    page.locator(".list tbody input").check()
    page.get_by_role("link", name="Compare").click()
    page.wait_for_selector("table.compare")
    wide.go("accelerators?devices=nvidia-h100-sxm5-80gb")
    page.locator(".figure-button").first.click()
    assert HOSTILE in page.locator("dialog.source").inner_text()
    assert page.locator("dialog.source a[href^=javascript]").count() == 0
    wide.go("offers?q=%3Cimg%20src=x%20onerror=alert(5)%3E")
    wide.go("charts?device=%3Cscript%3E")
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize(("scheme", "width", "first"), [("light", 1360, 0), ("dark", 390, 1)])
def test_no_view_has_a_grave_fault_for_people_with_aids(browser, folder, scheme, width, first):
    """At night every view in both forms, by day each in one of them."""
    from axe_playwright_python.sync_playwright import Axe

    views = (*VIEWS, *STATIC) if NIGHTLY else (*VIEWS, *STATIC)[first::2]
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 844}}
    with visit(browser, folder.as_uri(), **options) as opened:
        for view in views:
            if view in STATIC:
                opened.page.goto(f"{opened.address}/{view}")
                opened.page.wait_for_selector("h1")
            else:
                opened.go(view)
            faults = [
                f"{view}: {fault['id']}: {fault['nodes'][0]['html'][:200]}"
                for fault in Axe().run(opened.page, options=AXE).response["violations"]
                if fault["impact"] in GRAVE
            ]
            assert faults == []
            assert set(opened.page.evaluate(SIZES)) <= {"12px", "14px", "17px", "22px"}
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_works_from_a_server(browser: Any, folder: Path) -> None:
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with visit(browser, f"http://127.0.0.1:{server.server_port}") as opened:
            page = opened.go("offers?q=p5.48")
            page.get_by_role("link", name="p5.48xlarge", exact=True).click()
            with page.context.expect_page() as tab:
                page.get_by_role("link", name="Page of p5.48xlarge").click()
            machine = tab.value
            machine.wait_for_selector("html[data-ready]")
            assert machine.locator("h1").inner_text() == "p5.48xlarge"
            line = machine.locator("details", has_text="Vendor's line of P5")
            line.locator("summary").click()
            assert "PricePerUnit 55.04 <u>" in " ".join(line.inner_text().split())
            machine.get_by_role("link", name="H100 SXM5 80 GB").click()
            assert "$6.88" in machine.locator("main").inner_text()
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without writing a line for each."""

    def log_message(self, format: str, *values: Any) -> None:
        """Write nothing."""
