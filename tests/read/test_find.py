"""Offers found by words and options, machine types by name, and why there is nothing."""

import json
import re
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from tests.helpers import releases, small_release
from tests.helpers.cases import cases, optional
from tests.helpers.cases import rows as case_rows
from tests.helpers.releases import Release, machine, price, publish, region
from tests.helpers.terminal import drawn, run

import hwprices
from hwprices.cli.compare import render_comparison
from hwprices.cli.coverage import render_columns, render_coverage, render_quarantine
from hwprices.cli.find import render_offers
from hwprices.cli.price import render_machine
from hwprices.errors import HwpricesError
from hwprices.read.dataset import Dataset
from hwprices.read.find import compare as comparing
from hwprices.read.find import machine as one_machine
from hwprices.read.find import names, offers, request, search, words
from hwprices.read.find.covers import why_nothing
from hwprices.read.find.names import NamedMachine, NamedPlace, ReleaseWords, regions_by_name
from hwprices.read.find.search import Search
from hwprices.specs import csv_rows

P5, A3, D4S = "p5.48xlarge", "a3-highgpu-8g", "Standard_D4s_v5"


def found(data: Dataset, text: str = "", **options: object) -> list[tuple[str, str, str, str]]:
    rows = data.find(text, **options)
    columns = ["region", "instance_type", "purchase_option", "effective_hourly"]
    return [(*row[:3], f"{row[3].normalize():f}") for row in rows.select(columns).iter_rows()]


@cases("read/find_words", machines=str.split)
def test_a_question_in_words_finds_machines(data: Dataset, text: str, machines: list[str]) -> None:
    assert sorted(row[1] for row in found(data, text)) == sorted(machines)


class CountingTables:
    """The tables of a release; counts how often each is requested."""

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.scans: Counter[str] = Counter()

    def scan(self, table: str) -> pl.LazyFrame:
        self.scans[table] += 1
        return self.data.scan(table)


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("", {}),
        ("8xh100", {"instance_types": 1, "accelerators": 1}),
        ("europe", {"instance_types": 2, "accelerators": 1, "prices": 1, "regions": 1}),
    ],
)
def test_a_question_reads_the_names_that_its_words_may_be(data, text, tables) -> None:
    counting = CountingTables(data)
    words.understand(text, words.ReleaseWords(counting), Search())
    assert counting.scans == tables


def test_words_and_options_give_the_same_offers(data: Dataset) -> None:
    words = found(data, "8xH100 europe 1y")
    options = found(data, accelerator="h100", count=8, continent="europe", term="1y")
    assert words == options == [("europe-west4", A3, "committed_use", "62.5")]


@cases("read/words_against_options", options=yaml.safe_load)
def test_words_and_options_that_have_nothing_in_common_are_an_error(data, text, options) -> None:
    with pytest.raises(HwpricesError, match="the words and the options ask for no "):
        data.find(text, **options)


@pytest.mark.parametrize(
    ("text", "options"), [("windows", {"os": "linux"}), ("linux", {"os": "windows"})]
)
def test_words_and_options_name_one_operating_system(data, text, options) -> None:
    with pytest.raises(HwpricesError, match="more than one operating system"):
        data.find(text, **options)


@cases("read/words_and_options", options=yaml.safe_load)
def test_of_words_and_options_both_hold(data, text, options, same) -> None:
    assert found(data, text, **options) == found(data, same) != []


def test_everything_can_be_asked_for(data: Dataset) -> None:
    """Without any condition on the prices, polars refused an empty filter."""
    everything = data.find(os="any", software="any", license="any", tenancy="any")
    known = pl.col("effective_hourly").is_not_null()
    placeholder = pl.col("flags").list.contains("placeholder")
    assert everything.height == data.prices.filter(known, ~placeholder).collect().height > 0


def test_an_option_that_is_repeated_joins_its_names(market: Path) -> None:

    def names(*options: str) -> set[tuple[str, str, str]]:
        rows = json.loads(run("find", "--json", *options, root=market).stdout)
        return {(row["provider"], row["instance_type"], row["region"]) for row in rows}

    both = names("--provider", "aws", "--provider", "google")
    assert both == names("--provider", "aws,gcp")
    assert {provider for provider, *_ in both} == {"aws", "gcp"}
    assert {name for _, name, _ in names("--gpu", "h200", "--gpu", "l4", "--region", "us-east")} | {
        name for _, name, _ in names("--type", "p5en", "--type", "g6.xlarge")
    } == {"p5en.48xlarge", "g6.xlarge"}
    places = names("--region", "US", "--region", "NL", "--os", "linux")
    assert {region for *_, region in places} == {region for *_, region in names()}
    rows = json.loads(run("price", P5, "spot", "on_demand", "--json", root=market).stdout)
    assert len(rows) == 2
    covered = run("coverage", "--provider", "google", "--provider", "azure", root=market).stdout
    assert "us-east4" in covered
    assert "us-east-1" not in covered
    twice = run("find", "--os", "linux", "--os", "windows", root=market)
    assert twice.exit_code == 2
    assert "--os is given 2 times: linux, windows." in twice.stderr


def test_the_name_of_an_accelerator_is_told_from_that_of_a_machine(data: Dataset) -> None:
    names = words.ReleaseWords(data)
    own = NamedMachine("digitalocean", "NVIDIA H100")
    names.__dict__["machines"] = [*names.machines, own]
    note = (
        "nvidia h100 is also the name of an accelerator: hwprices find --accelerator 'nvidia h100'"
        " lists every machine with one, hwprices device nvidia-h100-sxm5-80gb shows one."
    )
    assert words.resolve_machines(names, ["nvidia h100"]) == ([own], [note])
    assert words.resolve_machines(names, ["NVIDIA H100"]) == ([own], [])
    with pytest.raises(HwpricesError, match=r"no machine type 'L4' .*--accelerator L4 lists every"):
        data.price("L4")
    with pytest.raises(
        HwpricesError, match=r"'H100' is in .* H100, h200 are also names of acceler"
    ):
        data.compare("H100", "h200")


def test_a_suggestion_can_be_copied_into_a_shell(data: Dataset) -> None:
    """A word that is the name of a machine and of its accelerator; and a cloud that makes TPUs."""
    names = words.ReleaseWords(data, {"gcp": "Google Cloud"})
    own = NamedMachine("aws", "NVIDIA H100")
    names.__dict__["machines"] = [*names.machines, own]
    with pytest.raises(HwpricesError, match="--accelerator 'NVIDIA H100' or hwprices find --type"):
        words.understand("NVIDIA H100", names, Search())
    names.__dict__["accelerators"] = {**names.accelerators, "google-tpu-v5e": "Google TPU v5e"}
    asked = words.understand("google h100", names, Search())
    assert (asked.providers, asked.accelerators) == ({"gcp"}, {"nvidia-h100-sxm5-80gb"})


def test_memory_of_accelerators_that_no_vendor_states_is_that_of_their_sheet(data: Dataset) -> None:
    """Nebius names an H100 SXM and not its 80 GB: --accelerator-memory 80 left its machines out."""

    class NoMemory(CountingTables):
        def scan(self, table: str) -> pl.LazyFrame:
            rows = super().scan(table)
            if table != "instance_types":
                return rows
            fields = pl.element().struct
            unknown = fields.with_fields(memory_gib=pl.lit(None, pl.Float64))
            return rows.with_columns(
                pl.col("accelerators").list.eval(unknown),
                accelerator_memory_gib=pl.lit(None, pl.Float64),
            )

    def sold(tables: CountingTables | Dataset, least: float) -> list[tuple[str, float]]:
        asked = Search(accelerator_gib=search.Bounds(least=least))
        rows = search.find(tables, asked).collect()
        return sorted(set(rows.select("instance_type", "accelerator_memory_gib").rows()))

    tables = NoMemory(data)
    assert sold(tables, 80) == sold(data, 80) == [(A3, 640), (P5, 640), ("p5en.48xlarge", 1128)]
    assert sold(tables, 81) == [("p5en.48xlarge", 1128)]
    types = search.machine_types(tables).filter(instance_type="m7g.large").collect()
    assert types["accelerator_memory_gib"].to_list() == [None]


@pytest.mark.parametrize("amount", ["=16GB", "16-16 gib", "16GB-16GB", "16GiB..16"])
def test_memory_may_have_its_unit(data: Dataset, amount: str) -> None:
    assert found(data, memory=amount) == found(data, memory="=16")
    assert found(data, "l4", accelerator_memory=amount.replace("16", "24")) == found(data, "l4")


def test_several_places_widen_the_search_and_options_narrow_it(data: Dataset) -> None:
    assert {row[0] for row in found(data, "l4 us-east-1 europe")} == {"us-east-1", "europe-west4"}
    assert found(data, "l4 us-east-1 europe", provider="aws") == [
        ("us-east-1", "g6.xlarge", "on_demand", "0.8048")
    ]


def test_a_direction_is_the_same_in_every_spelling_of_the_vendors() -> None:
    east = {names.direction(name)[0] for name in ("us-east-1", "us-east4", "eastus2")}
    assert east == {("east", "us")}
    assert names.direction("ap-southeast-1") == (("asia", "east", "south"), "1")
    assert names.direction("us-gov-east-1")[0] != ("east", "us")


def test_the_cheapest_comes_first_and_other_orders_can_be_asked_for(data: Dataset) -> None:
    prices = [Decimal(row[3]) for row in found(data, "h100")]
    assert prices == sorted(prices)
    assert found(data, "h100", sort="memory", descending=True)[0][1] == P5
    with pytest.raises(HwpricesError, match=r"nothing to sort by.*Did you mean memory"):
        data.find("h100", sort="memry")


def test_max_price_and_other_currencies(data: Dataset) -> None:
    """A price in euros is compared only at a rate that the reader gives."""
    answer = offers.answer(data, "4vcpu westeurope", provider="azure")
    assert [str(price) for price in answer.rows["usd_per_hour"]] == ["0.2300000000", "None"]
    assert answer.notes == ("1 offer in EUR not ranked without --usd-per EUR=…",)
    first, *others = drawn(render_offers(answer, None)).splitlines()
    assert first.rstrip() == f"2 offers; {answer.notes[0]}"
    assert answer.notes[0] not in "".join(others)
    compared = data.find("4vcpu westeurope", provider="azure", usd_per={"EUR": "1.08"})
    assert compared["usd_per_hour"].to_list() == [Decimal("0.216"), Decimal("0.23")]
    assert data.find("h100", max_price=60).height == 2


def test_other_currencies_are_sorted_by_their_own_price() -> None:
    amounts = ["effective_hourly", "usd_per_hour", "usd_per_accelerator_hour"]
    rows = pl.DataFrame(
        [
            ("ovh", "a10-45", "EUR", "0.76", None, None, 1),
            ("ovh", "l40s-180", "EUR", "2.80", None, None, 2),
            ("ovh", "l40s-90", "EUR", "1.45", None, None, 1),
            ("ovh", "s1-2", "EUR", "0.0088", None, None, 0),
            ("aws", "t3.nano", "CNY", "4.22", None, None, 0),
            ("aws", "t4g.nano", "CNY", "1.05", None, None, 0),
            ("aws", "g6.xlarge", "USD", "0.8048", "0.8048", "0.8048", 1),
            ("aws", "m7g.large", "USD", "0.0816", "0.0816", None, 0),
        ],
        schema=["provider", "instance_type", "currency", *amounts, "accelerator_count"],
        orient="row",
    ).with_columns(pl.col(amounts).cast(pl.Decimal(38, 10)))
    usd, euros = ["m7g.large", "g6.xlarge"], ["s1-2", "a10-45", "l40s-90", "l40s-180"]
    order = search.sort(rows, "price")["instance_type"].to_list()
    assert order == [*usd, "t4g.nano", "t3.nano", *euros]
    order = search.sort(rows, "price", descending=True)["instance_type"].to_list()
    assert order == [*usd[::-1], "t3.nano", "t4g.nano", *euros[::-1]]
    order = search.sort(rows, "price_per_accelerator")["instance_type"].to_list()
    assert order[:4] == ["g6.xlarge", "a10-45", "l40s-180", "l40s-90"]


@cases("read/sentences", providers=str.split, countries=str.split)
def test_words_of_a_sentence_are_no_countries(sample_words, text, providers, countries) -> None:
    """ "in" was India, and "at" Austria: "h100 in europe" found machines of both."""
    search = request.request(sample_words, text)
    place = {(one.provider, one.region): one.country for one in sample_words.places}
    assert search.providers == set(providers)
    assert {place[region] for region in search.regions or ()} == set(countries)


def test_max_price_says_what_it_cannot_compare(data: Dataset) -> None:
    left_out = (
        "1 price in EUR left out: the price limit is in USD and needs --usd-per EUR=… for them."
    )
    nothing = offers.answer(data, "d4s_v6", max_price=1)
    assert nothing.notes == (left_out, "Without the price limit: 1 offer (on demand).")
    some = offers.answer(data, "4vcpu westeurope", max_price=1)
    assert (some.rows["instance_type"].to_list(), some.notes) == ([D4S], (left_out,))
    compared = offers.answer(data, "d4s_v6", max_price=1, usd_per={"EUR": "1.08"})
    assert (compared.rows.height, compared.notes) == (1, ())


@cases("read/unknown_words")
def test_a_word_that_means_nothing_gets_suggestions(data: Dataset, text: str, message: str) -> None:
    with pytest.raises(HwpricesError, match=message):
        data.find(text)


@pytest.mark.parametrize(
    ("text", "options"), [("h100 vast", {}), ("Vast.ai", {}), ("", {"provider": "vast"})]
)
def test_a_market_is_told_from_an_unknown_word(data, text, options) -> None:
    names = ReleaseWords(data, markets={"vast": "Vast.ai"})
    with pytest.raises(HwpricesError, match=r"Vast\.ai is a market.*from market_quantiles"):
        request.request(names, text, **options)


@cases("read/wrong_options", options=yaml.safe_load, message=optional)
def test_a_wrong_option_is_an_error_that_helps(data, options, message) -> None:
    if message is None:
        assert data.find(**options).height == 5
        return
    with pytest.raises(HwpricesError, match=message):
        data.find(**options)


@cases("read/not_sold")
def test_not_sold_is_told_apart_from_not_in_this_release(data, text, message) -> None:
    answer = offers.answer(data, text)
    assert answer.rows.is_empty()
    assert answer.notes[0] == message


def test_price_shows_all_systems_and_says_why_there_is_none(data: Dataset, market: Path) -> None:
    assert data.price("d4s_V5").select("os", "effective_hourly").rows() == [
        ("linux", Decimal("0.23")),
        ("windows", Decimal("0.414")),
    ]
    matrix = one_machine.by_region(data.price("m7g.large"))
    assert matrix.columns == ["region", "currency", "linux on_demand", "windows on_demand"]
    with pytest.raises(HwpricesError, match=r"no price of trn2.48xlarge.*Not sold"):
        data.price("TRN2.48xlarge")
    with pytest.raises(HwpricesError, match="Did you mean Standard_D4s_v6"):
        data.price("d4s_v7")
    screen = run("price", "d4s_v5", "--os", "any", root=market).stdout
    assert "By region, windows" in screen
    assert "0.4140" in screen
    usual = run("price", "d4s_v5", root=market).stdout
    assert "not shown: 1 price of other systems, software or tenancy (--os any)" in usual
    assert "windows" not in usual


MAC_HOSTS = {row["family"]: row["amount"] for row in case_rows("read/mac_hosts")}
"""Dedicated hosts in us-east-1, July 2026: the only way to have their machines."""


@pytest.fixture(scope="module")
def macs(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A release with machines that are sold by the host, and one that is not."""
    hosts = {**MAC_HOSTS, "m5": "5.069"}
    types = [machine("aws", f"{family}.metal", vcpus=8) for family in hosts]
    costs = [
        price("aws", "us-east-1", family, amount, tenancy="host", flags=["whole_host"])
        for family, amount in hosts.items()
    ]
    costs.append(price("aws", "us-east-1", "m5.metal", "4.608"))
    regions = [region("aws", "us-east-1"), region("aws", "eu-west-1")]
    root = tmp_path_factory.mktemp("macs")
    publish(root, releases.tables(costs, types, regions), origin="sample")
    return hwprices.open(root)


@pytest.mark.parametrize(("family", "amount"), MAC_HOSTS.items())
def test_a21_a_machine_that_is_sold_by_the_host_has_its_hosts_price(macs, family, amount) -> None:
    answer = one_machine.answer(macs, f"{family}.metal")
    assert answer.machine.instance_type == f"{family}.metal"
    assert answer.rows.select("instance_type", "tenancy", "effective_hourly").rows() == [
        (family, "host", Decimal(amount))
    ]
    assert answer.notes[0].startswith(f"{family}.metal is sold only as a dedicated host, {family}")
    traced = macs.explain(f"{family}.metal").price
    assert (traced["instance_type"], traced["hourly"]) == (family, Decimal(amount))


def test_a21_a_machine_with_a_price_of_its_own_is_not_priced_by_the_host(macs: Dataset) -> None:
    answer = one_machine.answer(macs, "m5.metal")
    assert answer.rows["effective_hourly"].to_list() == [Decimal("4.608")]
    shared = one_machine.answer(macs, "mac2.metal", tenancy="shared")
    assert shared.rows.is_empty()
    assert shared.notes[0] == "mac2.metal: sold only as a dedicated host, mac2, in us-east-1."


class Changed(Dataset):
    """The dataset with other columns in one table."""

    def __init__(self, data: Dataset, table: str, **columns: Any) -> None:
        super().__init__(data.store, "latest")
        self.changed = {table: columns}

    def scan(self, table: str) -> pl.LazyFrame:
        return super().scan(table).with_columns(**self.changed.get(table, {}))

    def scan_types(self, table: str, types: Any, columns: Any = ()) -> pl.LazyFrame:
        rows = super().scan_types(table, types, columns)
        return rows.with_columns(**self.changed.get(table, {}))


SPOT = pl.col("purchase_option") == "spot"


def test_a_price_seen_long_ago_is_marked(data: Dataset) -> None:
    seen = pl.lit(datetime(2021, 2, 9, 1, 40, tzinfo=UTC))
    older = Changed(data, "prices", observed_at=pl.when(SPOT).then(seen).otherwise("observed_at"))
    compared = comparing.compare(older, P5, A3)
    stale = [f"{purchase}_stale" for purchase in comparing.PURCHASES]
    assert compared.rows.select(stale).rows() == [
        (False, True, None, None),
        (False, None, False, None),
    ]
    screen = drawn(render_comparison(compared.rows, compared.notes))
    assert " 31.46*" in screen
    assert "55.04*" not in screen
    assert "* stale" in screen
    of_sheet = drawn(render_comparison(compared.rows, sheets=["aws"]))
    assert "*" not in of_sheet
    assert not data.compare(P5, A3)["spot_stale"].any()
    assert older.find("p5").select("purchase_option", "stale").rows() == [
        ("spot", True),
        ("on_demand", False),
    ]
    assert not data.find("p5")["stale"].any()
    note = "aws: 1 price stale, seen on 2021-02-09."
    answer = offers.answer(older, "p5")
    assert answer.notes == compared.notes == (note,)
    assert "stale: 2021-02-09" in drawn(render_offers(answer, None))
    price = one_machine.answer(older, P5)
    assert (price.notes, price.rows["stale"].to_list()) == ((note,), [True, False])
    screen = drawn(render_machine(price, None))
    assert "stale: 2021-02-09" in screen
    assert " 31.46*" in screen
    assert "55.04*" not in screen


def test_block_storage_is_shown_beside_the_network(data: Dataset) -> None:
    figures = {"block_storage_gbps_baseline": 0.65, "block_storage_iops_max": 18750}
    is_p5 = pl.col("instance_type") == P5
    known = {name: pl.when(is_p5).then(pl.lit(value)) for name, value in figures.items()}
    described = Changed(data, "instance_types", **known)
    compared = described.compare(P5, A3)
    assert compared.select(list(figures)).rows() == [(0.65, 18750), (None, None)]
    lines = drawn(render_comparison(compared)).splitlines()
    assert ["≠", "block", "storage,", "Gbit/s", "0.65", "-"] in [line.split() for line in lines]
    screen = drawn(render_machine(one_machine.answer(described, P5), None))
    assert "block storage 0.65 Gbit/s, up to 18,750 IOPS" in screen


def test_a_narrow_comparison_goes_on_below_and_cuts_no_figure(data: Dataset) -> None:
    names = ("g6.xlarge", "g2-standard-4", P5, A3)
    compared = render_comparison(data.compare(*names))
    screen = drawn(compared, width=60)
    assert screen.splitlines()[0].split() == ["g6.xlarge", "g2-standard-4"]
    headings = [line.split() for line in screen.splitlines() if line.startswith("      ")]
    assert [name for line in headings for name in line if name in names] == list(names)
    assert len(headings) == sum("FP8 per GPU, TFLOPS" in line for line in screen.splitlines())
    assert "0.8048" in screen
    assert "…" not in screen.replace("EUR=…", "")
    wide = drawn(compared, width=200).splitlines()
    assert wide[0].split() == list(names)


def test_a_release_older_than_a_column_is_read(data: Dataset) -> None:
    class Older(Dataset):
        def scan(self, table: str) -> pl.LazyFrame:
            return (
                super().scan(table).select(pl.exclude("^block_storage_.*$", "local_disk_read_iops"))
            )

    older = Older(data.store, "latest")
    assert older.compare(P5, A3)["block_storage_gbps_max"].to_list() == [None, None]
    assert "2,048 GiB memory" in drawn(render_machine(one_machine.answer(older, P5), None))


def test_a_placeholder_is_no_price_of_a_machine(data: Dataset) -> None:
    """RunPod's 0.50 USD for an MI300X was shown as the cheapest way to rent one."""
    flags = pl.when(SPOT).then(pl.lit(["placeholder"])).otherwise("flags")
    answer = one_machine.answer(Changed(data, "prices", flags=flags), P5)
    assert answer.rows["purchase_option"].to_list() == ["on_demand", "spot"]
    assert one_machine.price_ranges(answer.rows)["lowest"].to_list() == [Decimal("55.04")]
    assert one_machine.by_region(answer.rows).columns[2:] == ["linux on_demand"]
    assert answer.notes[0].startswith("Left out: 1 placeholder, too far below other prices")
    screen = drawn(render_machine(answer, None))
    assert "31.46" not in screen
    assert answer.notes[0] in screen
    assert one_machine.answer(data, P5).notes == ()


def test_compare_marks_differences_and_finds_equals(data: Dataset, market: Path) -> None:
    table = data.compare("g6.xlarge", equals=True)
    assert table["instance_type"].to_list() == ["g6.xlarge", "g2-standard-4"]
    assert table["on_demand_usd_per_hour"].to_list() == [Decimal("0.8048"), Decimal("0.77")]
    screen = run("compare", "g6.xlarge", "--equals", root=market).stdout
    marked = {line.split()[1] for line in screen.splitlines() if line.startswith("≠")}
    assert marked == {"cloud", "on"}
    assert "No price of a machine that is known to have 1 × nvidia-l4 at azure." in screen
    with pytest.raises(HwpricesError, match="nothing to compare"):
        data.compare("g6.xlarge")


H100S = {"device": "nvidia-h100-sxm5-80gb", "count": 8, "gib": 80}
SIZED = {"arch": "x86_64", "vcpus": 208, "memory_gib": 1872.0}

CLOUDS = [
    (machine("aws", P5, **H100S, arch="x86_64", vcpus=192, memory_gib=2048.0), "55.04"),
    (machine("aws", "p5.16xlarge", **H100S, arch="x86_64", vcpus=384, memory_gib=4096.0), "60"),
    (machine("gcp", "a3-edgegpu-8g", **H100S, **SIZED), None),
    (machine("gcp", A3, **H100S, **SIZED), "88.49"),
    (machine("lambda", "8x NVIDIA H100 SXM 80 GB", **H100S, vcpus=208, memory_gib=1800.0), "31.92"),
    (machine("runpod", "8x of a cloud that states no sizes", **H100S), "26.32"),
    (machine("nebius", "NVIDIA HGX H100", **(H100S | {"count": 1})), "3.85"),
    (machine("digitalocean", "NVIDIA H100 (8x)", device=None, count=8), "35.28"),
    (machine("coreweave", "NVIDIA A100", device=None, count=8), "21.60"),
]
"""Machines as the clouds state them, and their prices; lambda and others state no CPU."""


def cloud_release() -> Release:
    """Make a release of CLOUDS, as far as ``nearest`` reads it."""
    types = [row for row, _ in CLOUDS]
    costs = [price(row["provider"], "r", row["instance_type"], amount) for row, amount in CLOUDS]
    accelerators = small_release.build().tables["accelerators"]
    return Release({**releases.tables(costs, types), "accelerators": accelerators})


@pytest.mark.parametrize(
    "asked",
    [
        "aws p5.48xlarge",
        "lambda 8x NVIDIA H100 SXM 80 GB",
        "runpod 8x of a cloud that states no sizes",
    ],
)
def test_an_equal_may_leave_its_cpu_unstated_and_must_have_a_price(asked: str) -> None:
    provider, _, name = asked.partition(" ")
    found = comparing.nearest(
        comparing.comparable(cloud_release(), Search()), NamedMachine(provider, name)
    )
    equals = {
        "aws": P5,
        "gcp": A3,
        "lambda": "8x NVIDIA H100 SXM 80 GB",
        "runpod": "8x of a cloud that states no sizes",
    }
    del equals[provider]
    assert {machine.provider: machine.instance_type for machine in found} == equals


def test_a_machine_of_another_size_is_no_equal() -> None:
    """Azure's only machine in a place was the equal of an m4.10xlarge: 2 vCPUs for 40."""
    sizes = {
        ("aws", "m4.10xlarge"): (40, 160),
        ("azure", "Standard_D2s_v3"): (2, 8),
        ("gcp", "c3-standard-44"): (44, 176),
        ("linode", "half the memory"): (40, 80),
        ("oracle", "twice as large"): (80, 320),
        ("scaleway", "four times the memory"): (40, 640),
    }
    types = [
        machine(*name, arch="x86_64", vcpus=vcpus, memory_gib=float(gib), burstable=False)
        for name, (vcpus, gib) in sizes.items()
    ]
    shared = {"arch": "x86_64", "vcpus": 40, "memory_gib": 160.0, "burstable": True}
    types.append(machine("vultr", "a share of its CPUs", **shared))
    costs = [price(row["provider"], "r", row["instance_type"], "1") for row in types]
    release = Release({**cloud_release().tables, **releases.tables(costs, types)})
    found = comparing.nearest(
        comparing.comparable(release, Search()), NamedMachine("aws", "m4.10xlarge")
    )
    assert {one.provider for one in found} == {"gcp", "oracle"}


def test_a_machine_whose_sizes_are_known_goes_before_one_whose_are_not() -> None:
    release = cloud_release()
    types = release.tables["instance_types"].with_columns(
        provider=pl.col("provider").replace("runpod", "lambda")
    )
    release.tables |= {
        "instance_types": types,
        "prices": release.tables["prices"].with_columns(
            provider=pl.col("provider").replace("runpod", "lambda")
        ),
    }
    found = comparing.nearest(comparing.comparable(release, Search()), NamedMachine("aws", P5))
    assert NamedMachine("lambda", "8x NVIDIA H100 SXM 80 GB") in found


def test_an_accelerator_without_a_spec_sheet_has_no_equals() -> None:
    """DigitalOcean's H100 is no CoreWeave A100, though neither has an id."""
    asked = NamedMachine("digitalocean", "NVIDIA H100 (8x)")
    with pytest.raises(HwpricesError, match="no spec sheet says which accelerator"):
        comparing.nearest(comparing.comparable(cloud_release(), Search()), asked)


def test_coverage_lists_regions_without_prices_too(data: Dataset, market: Path) -> None:
    table = data.coverage()
    counts = dict(table.select(pl.format("{} {}", "provider", "region"), "prices").iter_rows())
    assert counts["aws us-east-1"] == 6
    assert counts["azure eastus"] == 0
    assert "no prices of azure: eastus" in run("coverage", root=market).stdout


def test_coverage_of_columns_counts_values_and_names_who_has_them(market: Path) -> None:
    """Counted here in the files themselves."""
    rows = json.loads(run("coverage", "--columns", "--json", root=market).stdout)
    by_column = {(row["table"], row["column"]): row for row in rows}
    release = hwprices.open(market)
    assert list(by_column) == [
        (table, column)
        for table in release.tables
        for column in release.scan(table).collect_schema()
    ]
    for table in ("instance_types", "prices", "offers", "cpus"):
        frame = release.scan(table).collect()
        for name in frame.columns:
            row, filled = by_column[table, name], frame.filter(pl.col(name).is_not_null())
            assert (row["rows"], row["filled"]) == (frame.height, filled.height)
            assert row["share"] == filled.height / frame.height
            named = "provider" in frame.columns
            assert row["providers"] == (sorted(set(filled["provider"])) if named else None)


def test_coverage_of_columns_of_some_providers(market: Path) -> None:
    chosen = ("coverage", "--columns", "--provider", "aws")
    rows = json.loads(run(*chosen, "--json", root=market).stdout)
    assert {tuple(row["providers"]) for row in rows} == {(), ("aws",)}
    prices = hwprices.open(market).prices.filter(provider="aws").collect()
    [zone] = [row for row in rows if (row["table"], row["column"]) == ("prices", "zone")]
    assert (zone["rows"], zone["filled"]) == (prices.height, prices["zone"].count())


def test_coverage_of_columns_shows_those_with_gaps(market: Path) -> None:
    lines = run("coverage", "--columns", root=market).stdout.splitlines()
    shown = {tuple(line.split()[:2]) for line in lines}
    assert ("instance_types", "base_ghz") in shown
    assert ("prices", "price_id") not in shown
    assert "without any value" in lines[-1]


@pytest.mark.parametrize(
    ("share", "words"), [(0.0, "0 %"), (0.004, "< 1 %"), (0.5, "50 %"), (0.9999, "99 %")]
)
def test_a_share_with_gaps_is_never_none_or_all(share: float, words: str) -> None:
    columns = pl.DataFrame(
        {"table": ["t"], "column": ["c"], "rows": [10_000], "filled": [int(share * 10_000)]}
    ).with_columns(share=pl.lit(share), providers=pl.lit(None, pl.List(pl.String)))
    assert f" {words}" in drawn(render_columns(columns, None), width=80)


def test_quarantine_is_grouped_by_reason(data: Dataset) -> None:
    assert data.refused().select("provider", "reason", "rows", "occurrences").rows() == [
        ("aws", "unknown_unit", 1, 3)
    ]


@pytest.mark.parametrize("width", [80, 200])
def test_tables_fit_the_terminal(data: Dataset, width: int) -> None:
    shown = [
        render_offers(offers.answer(data, "h100"), None),
        render_machine(one_machine.answer(data, P5), None),
        render_comparison(data.compare(P5, A3)),
        render_coverage(data.coverage(), None),
        render_columns(data.column_coverage(), None),
        render_quarantine(data.refused(), None),
    ]
    for renderable in shown:
        text = drawn(renderable, width=width)
        assert max(map(len, text.splitlines())) <= width
        assert "…" not in text.replace("--usd-per", "")


def test_the_region_is_shown_at_80_columns() -> None:
    """It was hidden beside devices of different counts and long names."""
    answer = offers.answer(hwprices.open("sample"), "h100 vs mi300x")
    heading = drawn(render_offers(answer, None), width=80).splitlines()[1]
    assert {"USD/h", "GPUs", "machine", "cloud", "option", "region"} <= {*heading.split()}


def test_a_price_is_never_cut(data: Dataset) -> None:
    text = drawn(render_offers(offers.answer(data, "4vcpu westeurope"), None), width=40)
    assert "0.2000 EUR" in text
    assert "…" not in "".join(text.split()).replace("EUR=…", "")


def test_completion_offers_names_of_the_dataset(market, monkeypatch) -> None:
    monkeypatch.setenv("HWPRICES_ROOT", str(market))
    monkeypatch.setenv("_HWPRICES_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "hwprices find --region eu")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert set(run().stdout.split()) == {"eu-central-1", "europe-west4"}


@cases("read/phrases")
def test_phrases_that_people_write_are_understood(data, market_words, text, same) -> None:
    words, _, limit = same.partition(" --max-price ")
    options = {"max_price": limit} if limit else {}
    expected = data.find(words, **options)
    assert expected.height
    is_same = request.request(market_words, text) == request.request(market_words, words, **options)
    assert is_same or data.find(text).equals(expected)


def test_a_direction_is_none_of_one_cloud_only(sample) -> None:
    """Akamai has a region named us-east: it hid AWS's us-east-1."""
    found = sample.find(provider="aws", region="us-east")
    assert set(found["region"]) == {"us-east-1"}


@pytest.fixture(scope="module")
def market_words(data: Dataset) -> ReleaseWords:
    return ReleaseWords.of(data)


class Asked:
    """A dataset that answers as ``find`` does, and reads the names of its release once."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset, self.words = dataset, ReleaseWords.of(dataset)

    def find(self, text: str = "", **options: Any) -> pl.DataFrame:
        return offers.run(self.dataset, request.request(self.words, text, **options)).rows


@pytest.fixture(scope="module")
def sample() -> Asked:
    return Asked(hwprices.open("sample"))


@pytest.fixture(scope="module")
def whole_sample(sample_root: Path) -> Asked:
    return Asked(hwprices.open(sample_root))


@pytest.fixture(scope="module")
def sample_words(sample: Asked) -> ReleaseWords:
    return sample.words


@cases("read/accelerator_words", accelerators=str.split)
def test_a_form_or_maker_narrows_and_a_device_widens(sample_words, words, accelerators) -> None:
    """ "a100 80 gb sxm4" found A100 of 40 GB and of PCIe, "l4 l40s" no L4.

    "l40s 48gb" was one machine of Crusoe.
    """
    asked = request.request(sample_words, words)
    assert sorted(asked.accelerators) == accelerators
    assert asked.machines is None


def test_a_core_of_another_maker_is_no_version_of_a_device(sample_words) -> None:
    """A NeuronCore-v2 and a Neoverse V2 are no TPU."""
    with pytest.raises(HwpricesError, match="'v2' is not understood"):
        request.request(sample_words, "tpu v2")


def test_a_device_without_an_id_may_be_the_requested_one() -> None:
    """DigitalOcean's H100 has no id: nothing is said to be missing."""
    answer = offers.answer(hwprices.open("sample"), "h100 digitalocean")
    assert answer.rows["accelerator_id"].null_count() == answer.rows.height > 0
    assert not [note for note in answer.notes if "No offer with" in note]


def test_a_card_with_a_bridge_has_nvlink(sample_words) -> None:
    """Hyperstack's NVIDIA H100 NVLink is a PCIe card, which has no NVLink of its own."""
    bridged = {("hyperstack", "NVIDIA H100 NVLink")}
    for text in ("h100 nvlink", "nvlink h100", "1x h100 nvlink", "h100 spot nvlink"):
        asked = request.request(sample_words, text)
        assert asked.accelerators == {"nvidia-h100-sxm5-80gb"}
        assert asked.unknown_accelerators == bridged
        assert asked.machines is None


def test_a_family_that_lacks_the_accelerator_of_its_name_is_not_left_out(sample_words) -> None:
    """ "t4g" was the GPU only: AWS's t4g.small has none."""
    with pytest.raises(HwpricesError, match="'t4g' may be accelerator or type"):
        request.request(sample_words, "t4g")
    assert request.request(sample_words, "t4g small").machines == {("aws", "t4g.small")}


def test_rdma_is_that_of_the_machine(sample) -> None:
    found = sample.find("h100 infiniband")
    assert found.height
    assert found.equals(sample.find("h100").filter(rdma="infiniband"))
    every = sample.find("h100").filter(pl.col("rdma") != "none")
    assert sample.find("h100 rdma").equals(every)
    assert every["rdma"].n_unique() > 1


@cases("read/cities", regions=str.split)
def test_a_city_names_azures_regions_too(sample_words, city, regions) -> None:
    """Azure's names of regions have no cities: Germany West Central."""
    named = {tuple(region.split("/")) for region in regions}
    assert named <= request.request(sample_words, city).regions


def test_a_direction_is_no_part_of_a_city(sample_words) -> None:
    """Australia East is in New South Wales."""
    south = request.request(sample_words, "south").regions or frozenset()
    assert ("azure", "australiaeast") not in south


def test_regions_without_prices_are_named_beside_those_that_lack_a_machine() -> None:
    data = hwprices.open("sample")
    (reason, *_) = why_nothing(data, request.request(ReleaseWords.of(data), "h100 frankfurt"))
    assert "Not sold in vultr fra: the vendor's lists do not have vbm-112c-2048gb-8-h" in reason
    assert "no prices of aws eu-central-1, azure germanywestcentral" in reason
    assert "Standard_" not in reason


def test_a_code_is_no_region_of_another_cloud_with_a_like_name() -> None:
    """Without Google's europe-west1 in the release it was AWS's eu-west-1."""
    named = ["aws us-east-1", "gcp us-east4", "azure eastus", "linode us-east", "aws eu-west-1"]
    places = [NamedPlace(*name.split(), "region", "", "", "") for name in named]
    places.append(NamedPlace("aws", "us-gov-east-1", "gov", "", "", ""))

    def of(text: str) -> set[str]:
        return {f"{place.provider} {place.region}" for place in regions_by_name(places, text)}

    assert of("us-east") == of("us east") == of("east us") == {*named[:4]}
    assert of("us-east-1") == of("us east 1") == {"aws us-east-1"}
    assert of("eastus") == {"azure eastus"}
    assert of("europe-west1") == of("us-east1") == set()


@cases("read/limits_of_an_accelerator")
def test_a_price_limit_may_be_that_of_one_accelerator(limit: str, sample) -> None:
    each = "usd_per_accelerator_hour"
    offers = sample.find("h100", usd_per={"EUR": "1.1"})
    expected = offers.filter(pl.col(each) <= Decimal("2.5"))
    assert expected["accelerator_count"].n_unique() > 1
    found = sample.find(f"h100 under {limit}", usd_per={"EUR": "1.1"})
    assert found["price_id"].sort().equals(expected["price_id"].sort())


def test_a_way_of_payment_is_understood(data: Dataset) -> None:
    with_it = data.find("a3-highgpu-8g 1 year").filter(payment_option="all_upfront")
    assert data.find("a3-highgpu-8g 1 year all upfront").equals(with_it)
    asked = request.request(ReleaseWords.of(data), "p5 3 years all upfront")
    assert (asked.terms, asked.payments) == ({36}, {"all_upfront"})


@cases("read/wordings")
def test_two_wordings_ask_for_the_same(sample_words, one: str, other: str, sample) -> None:
    """Scaleway's family H100-1 took the number of "h100 1 year", and "year" was not understood.

    A place within another narrows it, and places of a list are all meant.
    """
    assert sample.find(one).height
    assert request.request(sample_words, one) == request.request(sample_words, other)


def disk_kinds(sample: Asked, word: str) -> set[str | None]:
    machine = ["provider", "instance_type"]
    types = sample.find(word).select(machine).unique()
    inventory = sample.dataset.scan("instance_types").select(*machine, "local_disk_kind").collect()
    return set(types.join(inventory, on=machine)["local_disk_kind"])


def test_local_disks_are_counted_in_the_units_they_are_sold_in(sample) -> None:
    """A TB is 931.3 GiB: 4 TB are 3725.3 GiB. The table has a column of them."""
    for question, least in (("4tb nvme", 3725.29), ("4 tib local disk", 4096)):
        assert min(sample.find(question)["local_disk_gib"]) >= least
    kinds = {word: disk_kinds(sample, word) for word in ("nvme", "ssd", "local disk")}
    assert kinds["nvme"] == {"nvme_ssd"}
    assert kinds["ssd"] == {"nvme_ssd", "ssd"}
    assert kinds["local disk"] > kinds["ssd"]
    assert sample.find(local_disk="=0")["local_disk_gib"].unique().to_list() == [0]


def test_a_part_of_a_card_is_not_found_by_the_number_of_its_parts(sample) -> None:
    """The K80's name is "Tesla K80 (one GPU of two)": it was among the answers to "two a100"."""
    assert set(sample.find("two a100")["accelerator_count"]) == {2}


def test_the_machine_s_own_part_of_an_accelerator_counts(sample) -> None:
    """A sixth of a card of 24 GB answered "gpu 24gb"."""
    found = sample.find("gpu 24gb")
    assert found.filter(pl.col("accelerator_memory_gib") < 22).is_empty()
    part = pl.col("accelerator_count").is_between(0, 1, closed="none")
    parts = sample.find("gpu", accelerator_memory="3-12").filter(part)
    assert parts.filter(pl.col("accelerator_memory_gib") < 24).height


def test_an_answer_without_rows_says_what_there_is_without_each_condition(data: Dataset) -> None:
    answer = offers.answer(data, "g6 spot 3y")
    assert answer.rows.is_empty()
    assert any(note.startswith("Without term, payment and purchase") for note in answer.notes)


@pytest.mark.parametrize(
    ("per", "amount"), [("hour", "55.04"), ("month", "40,179"), ("year", "482,150")]
)
def test_prices_are_printed_for_a_time(market: Path, per: str, amount: str) -> None:
    """730 hours are a month, 8,760 a year: 55.04 USD/h are 40,179 and 482,150 USD."""
    for command in (["find", "p5 on_demand"], ["price", "p5.48xlarge"]):
        assert amount in run(*command, "--per", per, root=market).stdout


def test_a_name_of_several_devices_lists_them(market: Path) -> None:
    lines = run("device", "h100", root=market).stdout.splitlines()
    assert lines[0] == "3 devices"
    assert {"nvidia-h100-nvl-94gb", "nvidia-h100-sxm5-80gb"} <= set(" ".join(lines).split())


def test_accelerators_are_compared_as_devices(market: Path) -> None:
    devices = json.loads(run("compare", "h100", "l4", "h100", "--json", root=market).stdout)
    assert [row["device_id"] for row in devices] == ["nvidia-h100-sxm5-80gb", "nvidia-l4"]
    refused = run("compare", "h100", "l4", "--region", "us-east", root=market)
    assert (refused.exit_code, "error: --region: not for acc" in refused.stderr) == (2, True)


def test_in_stock_leaves_out_what_is_sold_out_or_not_stated() -> None:
    """Scaleway says available and shortage; others do not state their stock."""
    places = [("scaleway", "fr-par-2", "H100-1-80G"), ("scaleway", "fr-par-2", "L4-1-24G")]
    sold = [*places, ("aws", "us-east-1", "p5.48xlarge")]
    on = ("provider", "region", "instance_type")
    stock = [
        {**dict(zip(on, place, strict=True)), "state": word, "available": word == "available"}
        for place, word in zip(places, ("shortage", "available"), strict=True)
    ]
    own = releases.tables([price(*place, "1") for place in sold], stock=stock)
    data = Release({**own, "accelerators": small_release.build().tables["accelerators"]})
    names = [
        set(search.find(data, Search(in_stock=asked)).collect()["instance_type"])
        for asked in (False, True)
    ]
    assert names == [{name for *_, name in sold}, {"L4-1-24G"}]


@cases("read/cpu_words")
def test_cpus_bare_metal_and_series_are_understood(whole_sample, text, has, lacks) -> None:
    machines = {*whole_sample.find(text)["instance_type"]}
    assert has in machines
    assert lacks not in machines


def test_a_number_is_no_part_of_a_cpus_maker(whole_sample) -> None:
    """The number counts the H100: no machine of the sample has four and an EPYC by name."""
    assert {*whole_sample.find("epyc 4 h100")["accelerator_count"]} <= {4}
    assert whole_sample.find(cpu="Genoa").height == whole_sample.find("genoa").height


def test_what_is_left_out_is_a_cloud_or_a_place(whole_sample) -> None:
    assert whole_sample.find("h100 except aws, azure").filter(provider="aws").is_empty()
    places = whole_sample.find("h100 europe not france")
    assert {*places["continent"]} == {"europe"}
    assert "FR" not in {*places["country"]}
    assert not places["country"].has_nulls()  # "europe" may be France
    assert not whole_sample.find("h100 not china")["continent"].has_nulls()
    for left_out in ("except aws and azure", "not aws, azure", "excluding the aws and the azure"):
        assert {"aws", "azure"}.isdisjoint(whole_sample.find(f"h100 {left_out}")["provider"])
    assert {*whole_sample.find("h100 not china, spot")["purchase_option"]} == {"spot"}
    wrong = ["h100 not windows", "h100 not", "aws europe except aws", "aws europe not europe"]
    for text in (*wrong, "h100 not china and aws"):
        with pytest.raises(HwpricesError):
            whole_sample.find(text)


@pytest.mark.parametrize("row", csv_rows(Path(words.__file__).with_name("rewritten.csv")))
def test_the_example_of_a_rewritten_phrase_is_true(row: dict[str, str]) -> None:
    text, _, expected = row["example"].partition(": ")
    written = re.sub(words.complete(row["pattern"]), row["written"], text)
    assert " ".join(written.split()) == expected
