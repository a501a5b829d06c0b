"""The vendor's own past in the history: as the lists have it, and never over what was observed."""

import gzip
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs

import polars as pl
import pytest
from click.testing import Result
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers import aws_pages, gcp_pages, vendors
from tests.helpers.nightly import NIGHTLY
from tests.helpers.releases import prices
from tests.helpers.sample_release import made_once
from tests.helpers.stub_server import Reply, Request, StubServer
from typer.testing import CliRunner

import hwprices
from hwprices.cli import app
from hwprices.publish import history, release
from hwprices.publish.backfill import Backfill
from hwprices.publish.history.backfill import IS_BACKFILLED, ROW_SCHEMA, fit_in, fold
from hwprices.publish.reproduce import reproduce
from hwprices.schemas.tables import PriceHistory
from hwprices.settings import load
from hwprices.stage import validate
from hwprices.storage import layout
from hwprices.storage.store import Store
from hwprices.units import Money

pytestmark = pytest.mark.timeout(900)

REGION = "us-east-1"
EC2 = "/offers/v1.0/aws/AmazonEC2"

Listed = Mapping[str, int]
"""Machine type to cents an hour."""

PAST: dict[int, Listed] = {
    1: {"m7.large": 20, "p2.xlarge": 90},
    2: {"m7.large": 18, "p2.xlarge": 90},
    3: {"m7.large": 18, "p2.xlarge": 90, "m8.large": 11},
    4: {"m7.large": 18, "m8.large": 11},
    5: {"m7.large": 17, "m8.large": 11},
}
"""The lists of January to May 2026. Today m7.large costs 9.7 cents, and m8.large 9.8."""


def begin(month: int) -> datetime:
    return datetime(2026, month, 1, tzinfo=UTC)


def rows(month: int, listed: Listed) -> pl.DataFrame:
    """What is kept of a list."""
    made = prices(
        *({"instance_type": name, "hourly": Decimal(c) / 100} for name, c in listed.items())
    )
    return made.select(
        *(name for name in ROW_SCHEMA if name in made.columns),
        reading=pl.lit("reading"),
        unit=pl.lit(f"prices/{REGION}"),
        begin=pl.lit(begin(month), dtype=pl.Datetime("us", "UTC")),
        published=pl.lit(begin(month).replace(day=28), dtype=pl.Datetime("us", "UTC")),
        complete=pl.lit(True),
        hourly_low=pl.lit(None, dtype=Money),
        hourly_high=pl.lit(None, dtype=Money),
    ).select(list(ROW_SCHEMA))


def told(history: pl.DataFrame) -> list[tuple[object, ...]]:
    """Write intervals as machine, cents, months, and why they began and ended."""
    return [
        (name, int(hourly * 100), start.month, end.month if end else None, began, ended)
        for name, hourly, start, end, began, ended in history.sort("instance_type", "valid_from")
        .select("instance_type", "hourly", "valid_from", "valid_to", "start_reason", "end_reason")
        .iter_rows()
    ]


LISTS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 3), min_size=1),
    min_size=1,
    max_size=6,
)


@settings(max_examples=40 if NIGHTLY else 15, deadline=None)
@given(LISTS, st.data())
def test_at_each_list_that_was_read_the_history_has_its_prices(lists, data) -> None:
    months = data.draw(st.sets(st.integers(1, len(lists)), min_size=1))

    history = fold(rows(month, lists[month - 1]) for month in sorted(months))

    for month in months:
        at = begin(month)
        holds = history.filter(
            pl.col("valid_from") <= at, (pl.col("valid_to") > at).fill_null(True)
        )
        found = {
            name: int(hourly * 100)
            for name, hourly in holds.select("instance_type", "hourly").rows()
        }
        assert found == lists[month - 1]
    following = pl.col("valid_from").shift(-1).over("price_id", order_by="valid_from")
    value = pl.col("hourly").shift(-1).over("price_id", order_by="valid_from")
    is_split = (following == pl.col("valid_to")) & (value == pl.col("hourly"))
    assert history.filter(is_split).is_empty()
    validate.check(fit_in(history, history.clear()), PriceHistory)


@settings(max_examples=40 if NIGHTLY else 15, deadline=None)
@given(LISTS, LISTS, st.integers(1, 6))
def test_no_backfilled_interval_reaches_into_what_was_observed(lists, observed_lists, first):
    past = fold(rows(month, listed) for month, listed in enumerate(lists, 1))
    seen = fold(rows(first + n, listed) for n, listed in enumerate(observed_lists))
    observed = seen.with_columns(collection_unit=pl.lit(f"prices/{REGION}"))

    fitted = fit_in(past, observed)

    known = observed.group_by("price_id").agg(first=pl.col("valid_from").min())
    assert (
        fitted.join(known, on="price_id")
        .filter(pl.col("valid_to").is_null() | (pl.col("valid_to") > pl.col("first")))
        .is_empty()
    )
    ends = fitted["valid_to"].drop_nulls()
    assert fitted.height == ends.len()  # the unit was observed, so none stays open
    assert fit_in(fitted, observed).equals(fitted)


class Aws:
    """AWS on loopback with one release, and price lists of the past."""

    def __init__(self, root: Path, server: StubServer) -> None:
        self.root, self.server = root, server
        vendors.serve("aws", server)
        self.offer = offer = {
            "offerCode": "AmazonEC2",
            "versionIndexUrl": f"{EC2}/index.json",
            "currentRegionIndexUrl": f"{EC2}/current/region_index.json",
        }
        server.on("/offers/v1.0/aws/index.json", Reply.json({"offers": {"AmazonEC2": offer}}))
        names = {month: f"2026{month:02}28123456" for month in PAST}
        versions = {
            names[month]: {
                "versionEffectiveBeginDate": f"{begin(month):%Y-%m-%dT%H:%M:%SZ}",
                "versionEffectiveEndDate": f"{begin(month + 1):%Y-%m-%dT%H:%M:%SZ}",
                "offerVersionUrl": f"{EC2}/{names[month]}/index.json",
            }
            for month in reversed(PAST)
        }
        server.on(f"{EC2}/index.json", Reply.json({"versions": versions}))
        for month, listed in PAST.items():
            folder = f"{EC2}/{names[month]}"
            at = {REGION: {"currentVersionUrl": f"{folder}/{REGION}/index.json"}}
            server.on(f"{folder}/region_index.json", Reply.json({"regions": at}))
            server.on(f"{folder}/{REGION}/index.csv", self.list_of(listed))
        self.names = names

    @staticmethod
    def list_of(listed: Listed) -> Reply:
        where = {"Region Code": REGION}
        lines = [
            aws_pages.line(str(Decimal(c) / 100), SKU=name, **where, **{"Instance Type": name})
            for name, c in listed.items()
        ]
        return Reply(aws_pages.price_list(lines), content_type="text/csv")

    def serve_plans(self) -> None:
        """Serve savings plans that were published in the middle of February and of March."""
        root = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"
        listed = [
            {
                "publicationDate": f"{begin(month).replace(day=15):%Y-%m-%dT%H:%M:%SZ}",
                "offerVersionUrl": f"{root}/{month}/region_index.json",
            }
            for month in (3, 2)
        ]
        self.server.on(f"{root}/current/index.json", Reply.json({"versions": listed}))
        offer = {**self.offer, "savingsPlanVersionIndexUrl": f"{root}/current/index.json"}
        index = {"offers": {"AmazonEC2": offer}}
        self.server.on("/offers/v1.0/aws/index.json", Reply.json(index))
        for month, cents in ((2, 12), (3, 10)):
            url = f"{root}/{month}/{REGION}/index.json"
            at = {"regions": [{"regionCode": REGION, "versionUrl": url}]}
            self.server.on(f"{root}/{month}/region_index.json", Reply.json(at))
            rates = [("m7.large", str(Decimal(cents) / 100))]
            plan = ("PLAN", "ComputeSavingsPlans", "1yr", "No Upfront", rates)
            self.server.on(url, Reply(aws_pages.savings_plans(REGION, plan)))

    def serve_spot(self, day: datetime) -> None:
        """Serve spot quotes from a day on, at which m7.large went from 3 to 5 cents at noon."""

        def answer(request: Request) -> Reply:
            query = parse_qs(request.body.decode())
            start = query.get("StartTime", [""])[0]
            if query["Action"] != ["DescribeSpotPriceHistory"] or "EndTime" not in query:
                return vendors._answer_ec2(request)
            at = datetime.fromisoformat(start)
            self.spot.append((at, datetime.fromisoformat(query["EndTime"][0])))
            noon, before = day + timedelta(hours=12), day - timedelta(hours=6)
            quotes = [("m7.large", "0.03", before), ("m8.large", "0.02", before)]
            if at > day:
                quotes = [("m7.large", "0.05", noon), ("m8.large", "0.02", before)]
            else:
                quotes.append(("m7.large", "0.05", noon))
            lines = (
                (f"{REGION}a", name, "Linux/UNIX", price, f"{when:%Y-%m-%dT%H:%M:%SZ}")
                for name, price, when in quotes
            )
            return Reply(aws_pages.quotes(*lines), content_type="text/xml")

        self.spot: list[tuple[datetime, datetime]] = []
        self.server.on("/", answer)

    def fetched(self) -> list[int]:
        """The months whose lists were fetched, in that order."""
        months = {f"{EC2}/{name}/{REGION}/index.csv": month for month, name in self.names.items()}
        return [months[one.path] for one in self.server.requests if one.path in months]

    def run(self, *options: str) -> Result:
        at = ["--root", str(self.root), "--region", REGION]
        return CliRunner().invoke(app, ["backfill", "aws", *options, *at])

    def backfill(self, months: Sequence[int]) -> None:
        """Backfill these months, one command each."""
        for month in months:
            since, until = f"2026-{month:02}-02", f"2026-{month:02}-20"
            result = self.run("--since", since, "--until", until)
            assert result.exit_code == 0, result.output

    def history(self) -> pl.DataFrame:
        release.publish(Store(self.root))
        every = hwprices.open(self.root).scan("price_history").collect()
        return every.filter(provider="aws", region=REGION)


@pytest.fixture
def aws(stub, tmp_path, tmp_path_factory, monkeypatch) -> Aws:
    """AWS on loopback, with a copy of its first release."""
    server = stub()
    for name, value in vendors.environment("aws", server.url, tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HWPRICES_ATTEMPTS", "1")

    def make(root: Path) -> None:
        vendors.publish("aws", Aws(root, stub()).server, root)

    root = shutil.copytree(made_once(tmp_path_factory, "backfill-aws", make), tmp_path / "data")
    return Aws(root, server)


def test_the_past_comes_before_what_was_observed(aws: Aws) -> None:
    before = aws.history()

    aws.backfill([1, 2, 3, 4, 5])
    after = aws.history()

    observed = after.filter(~IS_BACKFILLED)
    same = [name for name in before.columns if name not in ("last_release",)]
    assert observed.select(same).equals(before.select(same))
    now = observed["valid_from"].min().month
    assert told(after.filter(IS_BACKFILLED)) == [
        ("m7.large", 20, 1, 2, "backfilled", "price_changed"),
        ("m7.large", 18, 2, 5, "price_changed", "price_changed"),
        ("m7.large", 17, 5, now, "price_changed", "observed"),
        ("m8.large", 11, 3, now, "added", "observed"),
        ("p2.xlarge", 90, 1, 4, "backfilled", "removed"),
    ]
    first = after.filter(IS_BACKFILLED, instance_type="p2.xlarge").row(0, named=True)
    assert (first["collection_unit"], first["first_release"], first["last_release"]) == (
        f"past_prices/{REGION}",
        "20260128T123456Z",
        "20260328T123456Z",
    )
    assert first["accelerator_id"] is None


def test_later_releases_and_a_copy_without_the_lists_keep_it(aws: Aws) -> None:
    aws.backfill([1, 2, 3])
    told_once = told(aws.history().filter(IS_BACKFILLED))

    for file in (aws.root / "backfilled").rglob("*"):
        if file.is_file():
            file.unlink()
    vendors.serve("aws", aws.server, Decimal("0.01"))
    vendors.collect("aws", root=str(aws.root))
    after = aws.history()

    assert told(after.filter(IS_BACKFILLED)) == told_once
    assert after.filter(~IS_BACKFILLED, instance_type="m7.large")["valid_to"].null_count() > 0


def test_the_difference_to_a_backfilled_price_is_the_vendors(aws: Aws) -> None:
    aws.backfill([1, 2, 5])
    aws.history()
    moves = hwprices.open(aws.root).diff("2026-01-15").filter(region=REGION, os="linux")
    shown = moves.filter(pl.col("change") != "first_collected")
    assert shown.select("instance_type", "change", "old_hourly", "new_hourly").rows() == [
        ("m7.large", "price_down", Decimal("0.2"), Decimal("0.097")),
        ("m8.large", "added", None, Decimal("0.098")),
        ("p2.xlarge", "removed", Decimal("0.9"), None),
    ]


def test_the_history_is_made_again_byte_for_byte(aws: Aws) -> None:
    aws.history()
    aws.backfill([1, 2])
    aws.history()
    store = Store(aws.root)

    for one in history.rebuild(store):
        assert history.differences(store, one) == []
    assert reproduce(store, hwprices.open(aws.root).version).exit_status == 0


def test_an_interrupted_backfill_goes_on(aws: Aws) -> None:
    page = f"{EC2}/{aws.names[3]}/{REGION}/index.csv"
    aws.server.on(page, Reply(status=503))
    first = aws.run("--since", "2026-01-01", "--until", "2026-06-01")
    aws.server.on(page, aws.list_of(PAST[3]))
    second = aws.run("--since", "2026-01-01", "--until", "2026-06-01")

    assert (first.exit_code, second.exit_code) == (1, 0)
    assert "2026-03-01" in first.stderr
    assert aws.fetched() == [1, 2, 3, 4, 5, 3]
    assert told(aws.history().filter(IS_BACKFILLED))[1][:4] == ("m7.large", 18, 2, 5)


def test_a_kept_list_is_read_again_by_another_program(aws: Aws) -> None:
    aws.backfill([1, 2])
    for file in (aws.root / "backfilled" / "aws" / "rows").rglob("*.parquet"):
        older = pl.read_parquet(file).with_columns(
            reading=pl.lit("older"), hourly=pl.col("hourly") * 2
        )
        older.write_parquet(file)
    requests = len(aws.fetched())

    aws.backfill([1])

    assert len(aws.fetched()) == requests
    assert told(aws.history().filter(IS_BACKFILLED))[0][:4] == ("m7.large", 20, 1, 2)


def test_the_estimate_downloads_nothing(aws: Aws) -> None:
    result = aws.run("--since", "2026-02-01", "--until", "2026-06-01", "--dry-run")
    assert (result.exit_code, aws.fetched()) == (0, [])
    assert result.stdout.startswith("4 lists, 4 to fetch: 0.00 GB, 0 minutes")
    assert not (aws.root / "backfilled").exists()


@pytest.mark.parametrize(("every", "months"), [("quarter", [1, 4]), ("year", [1])])
def test_fewer_lists_are_the_first_of_each_period(aws: Aws, every: str, months: list[int]) -> None:
    aws.run("--since", "2026-01-01", "--until", "2026-06-01", "--every", every)
    assert aws.fetched() == months


def test_a_vendor_without_a_past_says_so(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["backfill", "azure", "--since", "2024-01-01", "--root", str(tmp_path)]
    )
    assert result.exit_code == 2
    assert "azure publishes no price lists of the past" in " ".join(result.stderr.split())


def test_savings_plans_are_those_in_force_when_a_list_began(aws: Aws) -> None:
    aws.serve_plans()

    aws.backfill([5, 2, 3])  # April is not read

    plans = aws.history().filter(IS_BACKFILLED, purchase_option="savings_plan").sort("valid_from")
    assert told(plans) == [
        ("m7.large", 12, 3, 5, "backfilled", "price_changed"),
        ("m7.large", 10, 5, None, "price_changed", None),
    ]
    assert plans["state"].to_list()[-1] == "not_collected"  # no release has observed the unit
    assert plans["collection_unit"].unique().to_list() == [f"past_savings_plans/{REGION}"]


def test_spot_prices_are_kept_by_day(aws: Aws) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first, second = today - timedelta(days=2), today - timedelta(days=1)
    aws.serve_spot(first)

    result = aws.run("--since", f"{first:%Y-%m-%d}")

    assert result.exit_code == 0, result.output
    assert aws.spot == [(first, second), (second, today)]
    spot = aws.history().filter(IS_BACKFILLED, purchase_option="spot")
    columns = ("instance_type", "valid_from", "hourly", "hourly_low", "hourly_high", "end_reason")
    cents = {n: Decimal(n) / 100 for n in (2, 3, 4, 5)}
    assert spot.sort("instance_type", "valid_from").select(columns).rows() == [
        ("m7.large", first, cents[4], cents[3], cents[5], "price_changed"),
        ("m7.large", second, cents[5], cents[5], cents[5], "observed"),
        ("m8.large", first, cents[2], cents[2], cents[2], "observed"),
    ]
    again = aws.run("--since", f"{first:%Y-%m-%d}")
    assert "0 lists fetched, 2 there already" in again.stdout
    assert len(aws.spot) == 2


SERIES = ("prices", "savings_plans", "spot")


@settings(max_examples=5, deadline=None)
@given(st.permutations([(kind, month) for kind in SERIES for month in (1, 2, 4)]), LISTS)
def test_any_order_of_all_kinds_gives_the_same_intervals(order, lists) -> None:
    """Lists of three kinds, folded after each one that is added, as interrupted backfills do."""

    def folded(steps: Sequence[Sequence[tuple[str, int]]]) -> pl.DataFrame:
        with TemporaryDirectory() as root, Backfill(Store(root), "aws", load()) as made:
            for step in steps:
                for kind, month in step:
                    listed = rows(month, lists[month % len(lists)]).with_columns(
                        reading=pl.lit(made._reading), unit=pl.lit(f"{kind}/{REGION}")
                    )
                    key = layout.backfilled_rows("aws", REGION, f"{kind}-{month}")
                    buffer = BytesIO()
                    listed.write_parquet(buffer)
                    made.store.put(key, buffer.getvalue())
                made._fold(REGION)
            file = Path(root, layout.backfilled_intervals("aws", REGION))
            return pl.read_parquet(file)

    at_once = folded([sorted(order)])

    assert folded([[one] for one in order[:-1]] + [order[-1:]]).equals(at_once)


class Google:
    """Google Cloud on loopback with one release, and rates of the past."""

    SKUS = "/v1/services/6F81-5844-456A/skus"

    def __init__(self, root: Path, server: StubServer) -> None:
        self.root, self.asked = root, list[tuple[str, str]]()
        vendors.serve("gcp", server)
        vendors.collect("gcp", root=str(root))
        release.publish(Store(root))
        server.on(self.SKUS, self.answer)
        server.on("/v1/services/E000-3F24-B8AA/skus", Reply.json({"skus": []}))

    def answer(self, request: Request) -> Reply:
        """Sell a core of N2 at 3 cents, and at 4 from the 10th of February on."""
        start = request.query["startTime"]
        self.asked.append((start, request.query["endTime"]))
        core = gcp_pages.sku("N2 Instance Core running in Americas", "0.03")
        ram = gcp_pages.sku("N2 Instance Ram running in Americas", "0.004")
        later = gcp_pages.sku("N2 Instance Core running in Americas", "0.04")["pricingInfo"]
        core["pricingInfo"][0]["effectiveTime"] = start
        ram["pricingInfo"][0]["effectiveTime"] = start
        later[0]["effectiveTime"] = max(start, "2026-02-10T08:00:00Z")
        if start >= "2026-03":
            core["pricingInfo"] = later
        elif start >= "2026-02":
            core["pricingInfo"] += later
        return Reply.json({"skus": [core, ram]})

    def run(self, *options: str) -> Result:
        return CliRunner().invoke(app, ["backfill", "gcp", *options, "--root", str(self.root)])


@pytest.fixture
def google(stub, tmp_path, monkeypatch) -> Google:
    server = stub()
    for name, value in vendors.environment("gcp", server.url, tmp_path).items():
        monkeypatch.setenv(name, value)
    return Google(tmp_path / "data", server)


def test_todays_machines_at_past_rates_of_google(google: Google) -> None:
    for since, until in (("2026-04-02", "2026-04-20"), ("2026-01-02", "2026-02-20")):
        result = google.run("--since", since, "--until", until)
        assert result.exit_code == 0, result.output
    release.publish(Store(google.root))

    assert google.asked == [
        ("2026-04-01T07:00:00Z", "2026-05-01T06:59:59Z"),
        ("2026-01-01T08:00:00Z", "2026-02-01T07:59:59Z"),
        ("2026-02-01T08:00:00Z", "2026-03-01T07:59:59Z"),
    ]
    past = hwprices.open(google.root).scan("price_history").filter(IS_BACKFILLED).collect()
    one = past.filter(instance_type="n2-standard-2", region="us-central1").sort("valid_from")
    assert one.select("hourly", "valid_from", "end_reason", "basis").rows() == [
        (Decimal("0.092"), datetime(2026, 1, 1, 8, tzinfo=UTC), "price_changed", "recomposed"),
        (Decimal("0.112"), datetime(2026, 2, 10, tzinfo=UTC), "observed", "recomposed"),
    ]
    assert set(past["purchase_option"]) == {"on_demand"}
    assert google.run("--since", "2026-04-02", "--region", "us-east1").exit_code == 2


@pytest.mark.shared
def test_the_recorded_index_of_aws_is_read(aws: Aws, shared: Path) -> None:
    """110 versions as AWS served them in September 2025, one a month from December 2015."""
    recorded = shared / "recordings" / "aws" / "index_2025-09"
    index = gzip.decompress((recorded / "2-versionIndexUrl-file.json.gz").read_bytes())
    aws.server.on(f"{EC2}/index.json", Reply(index))

    with Backfill(Store(aws.root), "aws", load()) as made:
        chosen = made.choose([REGION], datetime(2015, 1, 1, tzinfo=UTC), begin(12), "month")
        every = [one for one in chosen if "prices" in one.past.kinds]  # the others are spot days
        june = made.choose([REGION], datetime(2025, 6, 1, tzinfo=UTC), begin(1), "year")

    assert len(every) == 110
    assert (every[0].past.begin, every[-1].past.end) == (datetime(2015, 12, 1, tzinfo=UTC), None)
    assert june[0].past.version == "20250703204906"
    assert june[0].past.params["prices"].endswith(f"{EC2}/20250703204906/region_index.json")
