"""Measure the page of `hwprices report` in Chromium, at the sample's size and at 85,000 offers.

Repeats the offers of the release in data/ in made-up regions, each at a slightly different price,
until there are enough. Without that release, it makes one from the sample like `make run`; the
small size uses the bundled release. Measures the size of index.html, the time until the table is
shown, and how long the page's main thread computes from an interaction to the next painted frame,
which other programs hardly change; the best of three runs. Needs Chromium on the PATH.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from playwright.sync_api import CDPSession, Page, sync_playwright

import hwprices
from bench import measure
from hwprices.read.report.index import index
from hwprices.release.versions import sample_root
from hwprices.units import Money

ROOT = "data"
OFFERS = 85_000
RUNS = 3

FIRST_VIEW = measure.Goal(seconds=1.5, megabytes=3)  # megabytes of index.html
INTERACTION = measure.Goal(seconds=0.2)

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

PRICE_STEP = 0.0031  # Relative price difference between copies of an offer

# From the event until the frame after it is painted.
PAINTED = """async (act) => {
  const begin = performance.now();
  new Function(act)();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""

INPUT = """(() => {{ const field = document.querySelector('{selector}');
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, '{value}');
  field.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"""
CLICK = "document.querySelector('{selector}').click()"
CLICK_PLACE = """document.querySelector('.map circle')
  .dispatchEvent(new MouseEvent('click', { bubbles: true }))"""
GO = "location.hash = '{value}'"

INTERACTIONS = {
    "search for h100": INPUT.format(selector="input[name=q]", value="h100"),
    "search for nothing": INPUT.format(selector="input[name=q]", value=""),
    "open a GPU model": CLICK.format(selector=".list .machine button"),
    "all machines": CLICK.format(selector="input[name=rows][value=machines]"),
    "tick a provider": CLICK.format(selector="input[name=provider]"),
    "untick it": CLICK.format(selector="input[name=provider]"),
    "at least 64 vCPUs": INPUT.format(selector="input[name=vcpus_from]", value="64"),
    "any vCPUs": INPUT.format(selector="input[name=vcpus_from]", value=""),
    "sort by machine": CLICK.format(selector=".list thead th:nth-child(2) button"),
    "sort by price": CLICK.format(selector=".list thead th:nth-child(8) button"),
    "prices per GPU": CLICK.format(selector="input[name=per][value=gpu]"),
    "next page": CLICK.format(selector=".pages button:last-of-type"),
    "open an offer": CLICK.format(selector=".list .machine a"),
    "close it": CLICK.format(selector="dialog[open] .close"),
    "open the map": CLICK.format(selector=".bar > button[aria-expanded]"),
    "choose a place": CLICK_PLACE,
    "which machine": GO.format(value="machine"),
    "accelerators": GO.format(value="accelerators"),
    "charts": GO.format(value="charts"),
    "move a slider": INPUT.format(selector="input[name=utilisation]", value="0.8"),
    "offers": GO.format(value="offers"),
}


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the page with the release's offers, and with many."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no Chromium on the PATH: the page is not measured")
        return
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        dataset = hwprices.open(root(folder, is_small=is_small))
        offers = dataset.scan("offers").collect()
        frames = [offers] if is_small else [offers, repeated(offers, OFFERS)]
        for frame in frames:
            file = Path(folder) / f"{frame.height}.html"
            file.write_text(index(dataset, frame), encoding="utf-8")
            times = measure_page(chromium, file, RUNS)
            yield from page_rows(file, frame.height, times, is_small=is_small)


def root(folder: str, *, is_small: bool) -> str:
    """Return a root with a release; make one from the sample below the folder if there is none."""
    if Path(ROOT, "latest.json").exists():
        return ROOT
    if is_small:
        return sample_root()
    root = f"{folder}/data"
    command = [sys.executable, "-m", "hwprices", "refresh", "--source", "sample", "--root", root]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return root


def page_rows(
    file: Path, offers: int, times: dict[str, "Time"], *, is_small: bool
) -> Iterator[measure.Row]:
    """Make the rows of one page: the first view with the file's size, then each interaction."""
    size = f"{offers:,} offers"
    for name, time in times.items():
        is_first = name == "first view"
        seconds = (time.clock if is_first else time.computing) / 1000
        megabytes = file.stat().st_size / 1e6 if is_first else None
        row = measure.Row(f"page: {name}", size, seconds, megabytes)
        goal = FIRST_VIEW if is_first else INTERACTION
        yield row if is_small else measure.with_goal(row, goal)


def repeated(offers: pl.DataFrame, height: int) -> pl.DataFrame:
    """Repeat offers in made-up regions until there are ``height``."""
    copies = [
        offers.with_columns(
            # the originals keep their names, and so their places on the map
            pl.format("{}{}", "region", pl.lit(f"-{copy}" if copy else "")).alias("region"),
            (pl.selectors.decimal().cast(pl.Float64) * (1 + PRICE_STEP * copy))
            .round(6)
            .cast(Money),
        )
        for copy in range(height // offers.height + 1)
    ]
    return pl.concat(copies).head(height)


@dataclass(frozen=True)
class Time:
    """Milliseconds of a step: wall-clock time, and computing in the page's main thread."""

    clock: float
    computing: float


def best(one: Time, other: Time) -> Time:
    """Return the shorter times of two runs."""
    return Time(min(one.clock, other.clock), min(one.computing, other.computing))


def measure_page(chromium: str, file: Path, runs: int) -> dict[str, Time]:
    """Return the times of each step, the best of the runs."""
    times: dict[str, Time] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for _ in range(runs):
            page = browser.new_page(viewport={"width": 1360, "height": 850})
            for name, time in steps(page, file):
                times[name] = best(times.get(name, time), time)
            page.close()
        browser.close()
    return times


def steps(page: Page, file: Path) -> Iterator[tuple[str, Time]]:
    """Open the page once and go through the interactions."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    ready = float(page.evaluate("document.documentElement.dataset.ready"))
    before = computed(devtools)
    yield "first view", Time(ready, before)
    for name, action in INTERACTIONS.items():
        clock = float(page.evaluate(PAINTED, action))
        after = computed(devtools)
        yield name, Time(clock, after - before)
        before = after


def computed(devtools: CDPSession) -> float:
    """Return the milliseconds that the page's main thread has computed so far."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return 1000 * next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
