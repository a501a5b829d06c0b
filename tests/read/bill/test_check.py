"""Planted errors are found in bills of three clouds, and nothing else is."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.helpers import bills
from tests.helpers.bills import CLOUDS
from tests.helpers.cases import cases, optional
from tests.helpers.cases import rows as case_rows

import hwprices
from hwprices.read.bill.check import ERRORS
from hwprices.read.bill.formats import KIND, described

SAMPLE = hwprices.open("sample")

CASES = pytest.mark.parametrize(
    ("cloud", "version"),
    [(cloud, version) for cloud in CLOUDS for version in ("1.2", "1.3")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)


@CASES
def test_every_planted_error_is_found_and_no_other(cloud, version, tmp_path) -> None:
    lines = bills.make(cloud, version, tmp_path)
    on_demand = lines.with_row_index().filter(bills.ON_DEMAND)["index"].to_list()
    wrong, twice, hour = on_demand[:3]
    lines = bills.scaled(lines, wrong, "1.07", *bills.COSTS, "ListUnitPrice")
    used = lines.filter(bills.MACHINE, pl.col("CommitmentDiscountStatus") == "Used")[:1]
    start = {name: lines[name][hour] for name in ("ChargePeriodStart", "ChargePeriodEnd")}
    idle = used.with_columns(
        **{name: pl.lit(value) for name, value in start.items()},
        CommitmentDiscountStatus=pl.lit("Unused"),
        EffectiveCost=pl.lit("1.5"),
    )
    # on demand in the same hour may be several lines of the bill
    planted = {("differs", wrong + 2), ("billed_twice", lines.height + 2)} | {
        ("idle_commitment", row + 2)
        for row in on_demand
        if row != wrong
        and lines["ChargePeriodStart"][row] == start["ChargePeriodStart"]
        and lines["RegionId"][row] == cloud.region
    }
    assert any(kind == "idle_commitment" for kind, _ in planted)

    found = check(pl.concat([lines, lines[twice : twice + 1], idle]), tmp_path)

    errors = found.lines.filter(pl.col("class").is_in(list(ERRORS))).select("class", "line")
    assert set(errors.collect().with_columns(pl.col("class").cast(str)).rows()) == planted
    assert found.largest.height == min(len(planted), 10)
    idle = found.totals.filter(pl.col("class") == "idle_commitment")
    assert idle["difference"].to_list() == [None]  # the unused hour may be a small part of them
    machines = found.lines.filter(type=cloud.machine.lower(), region=cloud.region)
    others = machines.select(pl.col("class").cast(str)).unique().collect()["class"].to_list()
    explained = {
        "not_usage",
        "equal",
        "rounding",
        "discounted",
        "commitment",
        "unused_commitment",
        *ERRORS,
    }
    assert set(others) <= explained
    assert "commitment" in others
    share = found.coverage.row(0, named=True)
    assert 0 < share["lines_checked"] < share["lines"]
    assert found.totals["lines"].sum() == lines.height + 2


@CASES
def test_a_switched_currency_is_an_error_that_names_file_and_line(cloud, version, tmp_path) -> None:
    lines = bills.make(cloud, version, tmp_path, rows=50)
    with pytest.raises(hwprices.HwpricesError, match=r"bill\.csv: line 12: .*EUR"):
        check(bills.with_values(lines, 10, BillingCurrency="EUR"), tmp_path)


P5 = {
    "ChargeDescription": "$98.32 per On Demand Linux p5.48xlarge Instance Hour",
    "ListUnitPrice": "",
    "ListCost": "0",
}

THEN = {"ChargePeriodStart": "2025-09-01"}
OLD = {"ChargePeriodStart": "2022-09-01", "BilledCost": "98.32"}


def columns(cell: str) -> dict[str, str]:
    """Read ``column=value; column=value``."""
    return dict(pair.split("=", 1) for pair in cell.split("; "))


CLASSES = [tuple(row.values()) for row in case_rows("read/bill_classes", change=columns)]
WITH_RULE: list[tuple[dict[str, str], str]] = [
    ({**THEN, "BilledCost": "49.536"}, "as_contracted"),
    ({**THEN, "BilledCost": "55.04"}, "differs_from_contract"),
    ({"ChargePeriodStart": "2026-12-01", "BilledCost": "55.04"}, "equal"),  # the rule has ended
]


# 100 GB-months of an EBS gp3 volume in us-east-1 cost 8 USD, with 12 % off 7.04, with 5 % off 7.60
GP3 = {
    "SkuPriceId": "JG3KUJMBRGHV3N8G.JRTCKXETXF.6YS6EN2CT7",
    "ChargeDescription": "$0.08 per GB-month of General Purpose (gp3) provisioned storage",
    "PricingQuantity": "100",
    "PricingUnit": "GB-Months",
    "BilledCost": "7.04",
}
OF_5 = {**GP3, "BilledCost": "7.60"}
LATER = {**GP3, "ChargePeriodStart": "2026-12-02"}
REACHED = [(GP3, "as_contracted"), (OF_5, "differs_from_contract"), (LATER, "as_contracted")]
LEFT = [(GP3, "discounted"), (OF_5, "discounted"), (LATER, "discounted")]
ENDED = [*REACHED[:2], LEFT[2]]
OFF = "discount: 12%"
RULES = {
    OFF: REACHED,
    f"match: {{provider: aws}}, {OFF}": REACHED,
    f"match: {{provider: aws, region: us-*}}, {OFF}": REACHED,
    f"match: {{country: us}}, {OFF}": REACHED,
    f"match: {{provider: aws}}, {OFF}, to: 2026-12-01": ENDED,
    f"match: {{provider: gcp}}, {OFF}": LEFT,
    f"match: {{region: westeurope}}, {OFF}": LEFT,
    f"match: {{provider: aws, type: '*'}}, {OFF}": LEFT,
    f"match: {{provider: aws, option: [on_demand, commitment]}}, {OFF}": LEFT,
    "match: {provider: aws}, change: -0.0096": LEFT,
    "match: {provider: aws}, price: 0.0704": LEFT,
}


@pytest.mark.parametrize(
    ("cases", "options"),
    [
        (CLASSES, {}),
        ([(OLD, "equal")], {"nearest": True}),
        (WITH_RULE, {"overlays": "- {discount: 10%, to: 2025-12-31}"}),
        *((cases, {"overlays": f"- {{{rule}}}"}) for rule, cases in RULES.items()),
    ],
    ids=["list", "nearest", "overlays", *RULES],
)
def test_a_line_is_classified_by_the_price_of_its_hour(cases, options, tmp_path) -> None:
    if "overlays" in options:
        rules = tmp_path / "rules.yaml"
        rules.write_text(options["overlays"])
        options = {"overlays": rules}
    lines = [
        line(**{**P5, "ResourceId": f"i-{number}", **change})
        for number, (change, _) in enumerate(cases)
    ]

    found = check(pl.concat(lines), tmp_path, **options)

    rows = found.lines.sort("line").select(pl.col("class").cast(str), "price_of").collect()
    assert rows["class"].to_list() == [name for _, name in cases]
    then = "earliest known" if "nearest" in options else "valid then"
    assert set(rows["price_of"].drop_nulls()) <= {then}


def test_a_class_does_not_depend_on_the_other_lines(tmp_path: Path) -> None:
    unknown = line(ChargeDescription="$9 per On Demand Linux z9.large Instance Hour")
    assert check(unknown, tmp_path).totals.select("class", "lines").rows() == [("unknown_sku", 1)]


def test_of_equal_differences_the_first_lines_are_shown(tmp_path: Path) -> None:
    wrong = [line(**P5, BilledCost="60", ResourceId=f"i-{number}") for number in range(30)]
    largest = check(pl.concat(wrong), tmp_path).largest
    assert largest["line"].to_list() == list(range(2, 12))


def test_spot_is_compared_with_the_range_of_its_day(tmp_path: Path) -> None:
    spot = SAMPLE.prices.filter(provider="gcp", purchase_option="spot", os="linux")
    row = spot.sort("instance_type", "region", "price_id").head(1).collect().row(0, named=True)
    details = f'{{"InstanceType":"{row["instance_type"]}","OperatingSystem":"Linux"}}'
    of_spot = {
        "ProviderName": "Google Cloud",
        "ServiceName": "Compute Engine",
        "RegionId": row["region"],
        "SkuPriceDetails": details,
        "PricingCategory": "Dynamic",
        "ChargePeriodStart": "2026-12-02",
        "ListCost": "0",
    }
    lines = pl.concat(
        line(**of_spot, BilledCost=str(row["hourly"] * factor))
        for factor in (Decimal(1), Decimal("1.2"))
    )

    found = check(lines, tmp_path)

    assert found.lines.sort("billed").collect()["class"].to_list() == ["spot", "differs"]


def test_the_hours_of_a_component_are_not_those_of_its_machine(tmp_path: Path) -> None:
    of_core = {
        "ProviderName": "Google",
        "ServiceName": "Compute Engine",
        "RegionId": "us-central1",
        "SkuPriceDetails": '{"InstanceType":"n2-standard-2","OperatingSystem":"Linux"}',
        "ChargePeriodStart": "2026-12-02",
    }
    texts = ("N2 Instance Core running in Americas", "n2-standard-2 running")
    lines = [line(**of_core, ChargeDescription=text, ResourceId=text) for text in texts]
    found = check(pl.concat(lines), tmp_path)
    rows = found.lines.sort("line").collect()
    assert rows["type"].to_list() == [None, "n2-standard-2"]
    assert rows["class"].to_list() == ["not_collected", "differs"]


def test_a_commitment_that_costs_more_than_it_saves_comes_first(tmp_path: Path) -> None:
    committed = {
        **P5,
        "PricingCategory": "Committed",
        "CommitmentDiscountStatus": "Used",
        "ChargePeriodStart": "2025-09-01",
        "BilledCost": "0",
    }
    unused = {**committed, "CommitmentDiscountStatus": "Unused", "EffectiveCost": "30"}
    lines = pl.concat(
        [
            line(**committed, CommitmentDiscountId="good", EffectiveCost="40"),
            line(**committed, CommitmentDiscountId="bad", EffectiveCost="40", ResourceId="i-2"),
            line(**unused, CommitmentDiscountId="bad"),
        ]
    )
    commitments = check(lines, tmp_path).commitments
    assert commitments.select("commitment", "cost", "saving", "utilization").rows() == [
        ("bad", Decimal(70), Decimal("-14.96"), 0.5714),
        ("good", Decimal(40), Decimal("15.04"), 1.0),
    ]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "xlsx"])
def test_every_line_is_written_with_a_citation_and_without_formulas(suffix, tmp_path) -> None:
    found = check(
        line(
            **P5, ChargePeriodStart="2025-09-01", BilledCost="60", ResourceId="=cmd|' /c calc'!A1"
        ),
        tmp_path,
    )
    target = found.write(tmp_path / f"out.{suffix}")

    if suffix == "xlsx":
        import zipfile

        with zipfile.ZipFile(target) as book:
            sheets = b"".join(book.read(name) for name in book.namelist())
        assert b"<f>" not in sheets
        assert b"hwprices recheck" in sheets
        return
    rows = pl.read_parquet(target) if suffix == "parquet" else pl.read_csv(target)
    row = rows.row(0, named=True)
    assert row["resource"] == ("'" * (suffix == "csv")) + "=cmd|' /c calc'!A1"
    assert float(row["difference"]) == pytest.approx(4.96)
    (answer,) = SAMPLE.recheck(row["citation"])
    assert (answer.status, row["price_id"] in row["citation"]) == ("SAME", True)


@cases("read/bill_descriptions", usage_type=optional, description=optional, expected=json.loads)
def test_what_a_line_describes_is_told_apart(provider, usage_type, description, expected) -> None:
    line = {"provider": provider, "usage_type": usage_type, "description": description}
    kinds = pl.DataFrame({**dict.fromkeys(KIND), **line}, schema=dict.fromkeys(KIND, pl.String))
    assert described(kinds).select(list(expected)).row(0, named=True) == expected


def test_lines_after_the_release_are_noted(tmp_path: Path) -> None:
    made = f"{SAMPLE.manifest['created_at']:.10}"
    note = f"The release dates from {made}; later lines are compared with its latest prices."
    assert note in check(line(ChargePeriodStart="2099-01-01"), tmp_path).notes
    assert note not in check(line(ChargePeriodStart="2025-09-01"), tmp_path).notes


def line(**values: str) -> pl.DataFrame:
    """Return a line of FOCUS 1.0 about an hour of p5.48xlarge, with other values."""
    charge = ("ChargeClass", "ChargeDescription", "ChargePeriodEnd", "SkuPriceDetails")
    commitment = ("CommitmentDiscountId", "CommitmentDiscountStatus")
    usual = {
        **dict.fromkeys((*charge, *commitment, "ListCost", "ListUnitPrice"), ""),
        "BilledCost": "55.04",
        "BillingCurrency": "USD",
        "ChargeCategory": "Usage",
        "ChargePeriodStart": "2026-12-01",
        "EffectiveCost": "0",
        "PricingCategory": "Standard",
        "PricingQuantity": "1",
        "PricingUnit": "Hours",
        "ProviderName": "AWS",
        "RegionId": "us-east-1",
        "ResourceId": "i-1",
        "ServiceName": "Amazon Elastic Compute Cloud",
    }
    return pl.DataFrame({**usual, **values})


def check(lines: pl.DataFrame, folder: Path, **options: Any) -> Any:
    """Check lines that are written as CSV."""
    path = folder / "bill.csv"
    lines.write_csv(path)
    return SAMPLE.bill(path).check(**options)
