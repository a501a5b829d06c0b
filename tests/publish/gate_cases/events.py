"""Thirty genuine events: what vendors do. Each is published, and holds nothing else back."""

from datetime import UTC, date, datetime
from decimal import Decimal

import polars as pl
from tests.publish.gate_cases import (
    EVERY,
    Change,
    Tables,
    beside_licenses,
    drop,
    edit,
    launch,
    of_machines,
    read_cases,
    repart,
    reprice,
    scale,
    together,
    where,
)

from hwprices.units import Money

ON_DEMAND = where(purchase_option="on_demand")
SPOT = where(purchase_option="spot")
LINUX = where(os="linux")
H200 = where(instance_type="Standard_ND96isr_H200_v5")

SPOT_KEY = ("region", "instance_type", "os", "software", "license_model", "tenancy", "currency")


def renamed(old: str, new: str) -> pl.Expr:
    """The name of a machine type with a part of it replaced."""
    return pl.col("instance_type").str.replace(old, new, literal=True)


def flagged_spot(tables: Tables, _: int) -> Tables:
    """Spot prices that are not below on-demand have the flag that says so, as when parsed."""
    prices = tables["prices"]
    on_demand = prices.filter(ON_DEMAND).select(*SPOT_KEY, limit="effective_hourly")
    pairs = prices.join(
        on_demand.unique(SPOT_KEY, keep="first", maintain_order=True),
        on=list(SPOT_KEY),
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    rate = pl.col("effective_hourly")
    added = pl.when(rate > pl.col("limit")).then(pl.lit("spot_above_on_demand"))
    flag = added.otherwise(pl.lit("spot_equals_on_demand"))
    flags = pl.col("flags").list.set_union(pl.concat_list(flag))
    is_flagged = (SPOT & (rate >= pl.col("limit"))).fill_null(False)
    column = pl.when(is_flagged).then(flags).otherwise("flags").alias("flags")
    return {**tables, "prices": pairs.with_columns(column).drop("limit")}


def market(rows: pl.Expr, low: float, high: float) -> Change:
    """Spot prices that each move by a factor between two bounds, by the digits of their ids."""
    share = pl.col("price_id").str.slice(4, 4).str.to_integer(base=16) / 65535
    factor = low + share * (high - low)

    def moved(column: str) -> pl.Expr:
        return (pl.col(column).cast(pl.Float64) * factor).round(6)

    return together(
        edit("prices", rows, hourly=moved("hourly"), effective_hourly=moved("effective_hourly")),
        flagged_spot,
    )


def new_sheet(factor: str, rows: pl.Expr, sheet: str) -> Change:
    """A price sheet that was edited: other prices, another page, a newer date on every row."""
    digest = sheet.encode().hex().ljust(64, "0")[:64]
    return together(
        scale(factor, rows),
        edit("prices", EVERY, raw_sha256=digest, effective_from=NOVEMBER),
    )


EUR_PRICE = (pl.col("unit_price") * Decimal("0.92")).cast(Money)

NOVEMBER = pl.lit(datetime(2026, 11, 22, tzinfo=UTC))


EVENTS = read_cases(
    "events",
    {
        # cuts
        "p5-cut-aws": beside_licenses(
            scale("0.56", where(instance_type="p5.*")),
            scale("0.67", where(instance_type=["p4d.*", "p4de.*"])),
            scale("0.75", where(instance_type="p5en.*")),
        ),
        "a3-cut-gcp": reprice(
            "0.6", where(component=["gpu:nvidia-h100-80gb", "gpu:nvidia-h100-mega-80gb"])
        ),
        "h100-cut-azure": of_machines(scale("0.65", where(instance_type="*H100_v5"))),
        "region-raised-azure": of_machines(
            scale("1.1", where(region="westeurope", purchase_option=["on_demand", "reserved"]))
        ),
        "lambda-list": repart(EVERY, unit_price=pl.col("unit_price") * 1.3),
        "coreweave-list": new_sheet(
            "0.8", where(instance_type=["NVIDIA HGX H100", "NVIDIA HGX H200"]), "coreweave"
        ),
        "digitalocean-list": new_sheet("1.3", EVERY, "digitalocean"),
        "together-cut": scale("0.55", where(instance_type="NVIDIA HGX H100")),
        "scaleway-cut": scale("0.8", where(instance_type="L4*")),
        "ovh-edited": new_sheet("0.9", where(instance_type="h100-*"), "ovh"),
        "crusoe-prices": edit(
            "prices",
            where(instance_type="NVIDIA B200 180GB HGX") & ON_DEMAND,
            hourly=pl.lit("6.50").cast(pl.Decimal(20, 10)),
            effective_hourly=pl.lit("6.50").cast(pl.Decimal(20, 10)),
            price_reason=None,
        ),
        # launches
        "region-aws": together(
            launch(where(region="us-east-1"), region="us-south-9"),
            scale("1.05", where(region="us-south-9")),
        ),
        "region-gcp": launch(
            where(region="us-east4"), region="us-south9", sku_id=pl.col("sku_id") + "-S9"
        ),
        "region-azure": of_machines(
            launch(where(region="francecentral"), region="francewest9"),
            scale("1.08", where(region="francewest9")),
        ),
        "family-aws": together(
            launch(
                where(instance_type="m7i.*"),
                instance_type=renamed("m7i.", "m9i."),
                family="m9i",
                series="m9i",
            ),
            scale("1.05", where(instance_type="m9i.*")),
        ),
        "family-gcp": launch(
            where(instance_type="n4-standard-*"),
            instance_type=renamed("n4-", "n9-"),
            family="n9-standard",
            series="n9",
        ),
        "gpu-azure": of_machines(
            launch(H200, instance_type="Standard_ND96isr_B300_v6", family="standardNDv6Family"),
            scale("1.4", where(instance_type="Standard_ND96isr_B300_v6")),
            edit(
                "instance_types",
                where(instance_type="Standard_ND96isr_B300_v6"),
                accelerators=pl.col("accelerators").list.eval(
                    pl.element().struct.with_fields(
                        accelerator_id=pl.lit("nvidia-b300"), memory_gib=pl.lit(288.0)
                    )
                ),
                accelerator_memory_gib=pl.lit(2304.0),
            ),
        ),
        "gpu-nebius": together(
            launch(
                where(instance_type="NVIDIA HGX H200"), instance_type="NVIDIA HGX H200 with NVLink"
            ),
            scale("1.05", where(instance_type="NVIDIA HGX H200 with NVLink")),
        ),
        "type-elsewhere-aws": together(
            launch(
                where(instance_type="g5.*", region="us-east-1"), ["prices"], region="us-gov-west-1"
            ),
            scale("1.25", where(instance_type="g5.*", region="us-gov-west-1")),
        ),
        "term-azure": of_machines(
            launch(
                where(purchase_option="reserved", term_months=36, payment_option="monthly"),
                ["prices"],
                term_months=60,
            ),
            scale("0.9", where(term_months=60)),
        ),
        "currency-azure": of_machines(
            launch(where(currency="USD"), ["prices"], currency="EUR"),
            scale("0.92", where(currency="EUR")),
            edit("price_components", where(currency="EUR"), unit_price=EUR_PRICE),
        ),
        "option-aws": together(
            launch(
                ON_DEMAND & LINUX & where(tenancy="shared"),
                ["prices"],
                purchase_option="savings_plan",
                commitment_plan="compute",
                term_months=12,
                payment_option="no_upfront",
            ),
            scale("0.73", where(purchase_option="savings_plan")),
        ),
        # markets
        "spot-doubled-aws": together(scale("2", SPOT & where(zone="us-east-1c")), flagged_spot),
        "spot-raised-azure": together(
            of_machines(market(SPOT & where(region="francecentral"), 1.2, 1.9)), flagged_spot
        ),
        "spot-repriced-gcp": together(
            reprice("0.65", SPOT & where(series="n2")),
            reprice("1.2", SPOT & where(series="c3")),
            reprice("0.62", SPOT & where(series="g2")),
        ),
        "community-runpod": market(where(region="community"), 0.7, 1.3),
        # ends
        "generation-retired-aws": drop(
            where(instance_type=["m3.*", "c3.*", "r3.*", "i2.*", "g2.*"]),
            "prices",
            "availability",
            "spot_advice",
            "instance_types",
        ),
        "retirement-announced-azure": edit(
            "instance_types",
            where(instance_type="Standard_DS*_v2"),
            retirement_date=pl.lit(date(2028, 11, 15)),
        ),
        "region-closed-azure": drop(
            where(region="qatarcentral"),
            *("prices", "price_components", "availability", "regions", "zones"),
        ),
        "memory-corrected-oracle": edit(
            "instance_types",
            where(instance_type="BM.GPU.RTXPRO.8"),
            memory_gib=pl.lit(2304.0),
        ),
    },
)
