"""A hundred mistakes, none of which may be published, and thirty genuine events, which all are.

A mistake is a page misread, a vendor's slip or a fault of ours. An event is what vendors do: it is
published, and holds nothing else back.
"""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import polars as pl
from tests.publish.gate_cases import (
    EVERY,
    LINUX,
    MONEY,
    ON_DEMAND,
    SPOT,
    Change,
    Tables,
    beside_licenses,
    by_figure,
    creeping,
    drop,
    edit,
    exchange,
    launch,
    machine,
    name_again,
    of_machines,
    one_in,
    read_cases,
    region,
    repart,
    reprice,
    saved,
    scale,
    take,
    together,
    types,
    where,
)

from hwprices.units import Money

RESERVED = where(purchase_option="reserved")
P5 = machine("p5.*")
AZURE_H100 = machine("*H100_v5")

SAME_MACHINE = ("region", "zone", "instance_type", "tenancy", "currency")
SAME_PLAN = ("purchase_option", "commitment_plan", "payment_option")
SAME_TERM = (*SAME_PLAN, "term_months")
SAME_SYSTEM = ("os", "software", "license_model")
ELSEWHERE = ("instance_type", *SAME_SYSTEM, "tenancy", "currency", *SAME_TERM)


def renamed(old: str, new: str) -> pl.Expr:
    """The name of a machine type with a part of it replaced."""
    return pl.col("instance_type").str.replace(old, new, literal=True)


def rounded(places: int, rows: pl.Expr = EVERY) -> Change:
    """Prices that lost their decimals on the way; none is zero."""

    def shortened(column: str) -> pl.Expr:
        return pl.col(column).cast(pl.Float64).round(places).clip(10.0**-places)

    return edit("prices", rows, **{column: shortened(column) for column in MONEY})


def next_line(rows: pl.Expr) -> Change:
    """Each price on the line of the machine that follows, the last one on the first."""

    def change(tables: Tables, _: int) -> Tables:
        prices = tables["prices"].sort("price_id")
        chosen = prices.filter(rows).sort("region", "instance_type", "price_id")
        money = [pl.concat([pl.col(c).tail(1), pl.col(c).head(pl.len() - 1)]) for c in MONEY]
        moved = chosen.with_columns(money)
        return {**tables, "prices": pl.concat([prices.filter(~rows.fill_null(False)), moved])}

    return change


def trade(table: str, first: str, second: str, rows: pl.Expr = EVERY) -> Change:
    """Two columns of a table, each with the values of the other."""
    return edit(table, rows, **{first: pl.col(second), second: pl.col(first)})


def accelerators(rows: pl.Expr, **fields: pl.Expr) -> Change:
    """Machines whose accelerators have other figures, in the list and in the columns beside it."""
    element = pl.element()
    changed = pl.col("accelerators").list.eval(element.struct.with_fields(**fields))
    return types(rows, accelerators=changed)


def devices(factor: float, rows: pl.Expr) -> Change:
    """Machines with so many times their accelerators."""
    count = accelerators(rows, count=pl.field("count") * factor)
    columns = ("accelerator_count", "accelerator_memory_gib")
    more = {name: pl.col(name) * factor for name in columns}
    return together(count, types(rows, **more))


def at(year: int, month: int = 1, day: int = 1) -> pl.Expr:
    return pl.lit(datetime(year, month, day, tzinfo=UTC))


def older(table: str, column: str, days: int, rows: pl.Expr = EVERY) -> Change:
    """A date of some rows that lies further back, or ahead if ``days`` is negative."""
    return edit(table, rows, **{column: pl.col(column) - timedelta(days=days)})


MISTAKES = read_cases(
    "mistakes",
    {
        # levels
        "h100-tenth-aws": scale("0.1", P5),
        "h100-tenth-azure": scale("0.1", AZURE_H100),
        "h100-tenth-gcp": reprice("0.1", where(component="gpu:nvidia-h100-80gb")),
        "h100-tenth-coreweave": scale("0.1", machine("NVIDIA HGX H100")),
        "h100-point-lambda": repart(
            machine("8x NVIDIA H100*"), unit_price=pl.col("unit_price") * 100
        ),
        "cents-nebius": scale("100"),
        "cents-together": scale("0.01", machine("NVIDIA HGX H200")),
        "rate-of-device-oracle": repart(
            where(component="slice", instance_type="BM.GPU*"), quantity=pl.lit(1)
        ),
        "rate-of-device-coreweave": by_figure("accelerator_count", EVERY, divide=True),
        "machine-as-device-crusoe": scale("8"),
        "device-times-eight-runpod": scale("8", machine("1x NVIDIA L40S")),
        "month-as-hour-azure": scale("730", machine("Standard_D*s_v5") & ON_DEMAND),
        "month-as-hour-aws": scale(
            "730", where(instance_type="m5.large", region="us-east-1") & ON_DEMAND
        ),
        "month-as-hour-ovh": scale("730"),
        "hour-as-minute-azure": scale(
            "0.0166666667", where(purchase_option="low_priority") & LINUX
        ),
        "hour-as-second-gcp": reprice("0.0002777778", region("europe-west4") & SPOT),
        "vcpu-as-machine-aws": by_figure("vcpus", machine("r7i.*"), divide=True),
        "core-only-gcp": repart(
            where(instance_type="n2-standard-*", component="ram"), unit_price=pl.lit(0)
        ),
        "ocpu-as-vcpu-oracle": repart(
            where(component="core", instance_type="VM.Standard.E5*"),
            quantity=pl.col("quantity") * 2,
        ),
        "one-price-azure": scale(
            "10000",
            where(instance_type="Standard_E8s_v5", region="westeurope", os="windows") & ON_DEMAND,
        ),
        "scattered-thousand-aws": scale("1000", one_in(200)),
        "scattered-half-azure": scale("0.5", one_in(300) & ON_DEMAND),
        "rounded-aws": rounded(2),
        "rounded-gcp": rounded(0, machine("m*-*mem-*")),
        # currencies
        "yuan-as-dollar-aws": edit("prices", region("cn-north-1"), currency="USD"),
        "dollar-as-euro-aws": edit("prices", region("us-gov-west-1"), currency="EUR"),
        "euro-as-dollar-ovh": edit("prices", EVERY, currency="USD"),
        "euro-as-dollar-scaleway": edit("prices", machine("H100*"), currency="USD"),
        "euro-amount-azure": scale("0.92", region("francecentral")),
        "yen-amount-azure": scale(
            "150", where(instance_type="Standard_E*as_v5", region="westeurope")
        ),
        # options
        "spot-market-aws": scale("4", SPOT & where(zone="us-east-1a")),
        "spot-is-on-demand-azure": take(
            SPOT & machine("Standard_D*ads_v5"), ON_DEMAND, *(*SAME_MACHINE, *SAME_SYSTEM)
        ),
        "spot-on-demand-gcp": together(
            reprice("0.4", ON_DEMAND & where(series="c3")),
            reprice("2.5", SPOT & where(series="c3")),
        ),
        "three-years-azure": scale("2", RESERVED & where(term_months=36)),
        "three-years-gcp": take(
            where(instance_type="n2d-*", term_months=36),
            where(instance_type="n2d-*", term_months=12),
            *(*SAME_MACHINE, *SAME_SYSTEM, *SAME_PLAN),
        ),
        "plans-exchanged-aws": exchange("commitment_plan", "standard", "convertible"),
        "fee-over-one-year-aws": scale(
            "3", where(term_months=36, payment_option="all_upfront"), "effective_hourly"
        ),
        "upfront-lost-aws": edit("prices", where(payment_option="all_upfront"), upfront=None),
        "upfront-as-hour-azure": edit(
            "prices", where(payment_option="all_upfront"), effective_hourly=pl.col("upfront")
        ),
        "upfront-hourly-aws": edit(
            "prices",
            RESERVED,
            hourly=pl.col("upfront").fill_null(0),
            upfront=pl.when(pl.col("hourly") > 0).then("hourly"),
        ),
        "effective-only-aws": scale("0.5", where(payment_option="no_upfront"), "effective_hourly"),
        "commitments-lost-gcp": edit(
            "prices",
            where(region="us-central1", term_months=12),
            **dict.fromkeys(MONEY),
            price_reason="core_sku_missing",
        ),
        "windows-license-azure": take(
            where(instance_type="Standard_F*s_v2", os="windows", license_model="included"),
            LINUX,
            *(*SAME_MACHINE, *SAME_TERM),
        ),
        "windows-license-gcp": repart(
            where(instance_type="c3-standard-*", component="license", sku_id="*WINDOWS*"),
            unit_price=pl.lit(0),
        ),
        "systems-exchanged-aws": exchange("os", "linux", "windows", where(software="none")),
        "sql-edition-aws": take(
            where(software="sql_ent"),
            where(software="sql_web"),
            *(*SAME_MACHINE, "os", "license_model", *SAME_TERM),
        ),
        "red-hat-free-aws": take(
            where(os="rhel"), LINUX, *(*SAME_MACHINE, "software", "license_model", *SAME_TERM)
        ),
        "byol-with-license-azure": take(
            where(os="windows", license_model="byol"),
            where(os="windows", license_model="included"),
            *(*SAME_MACHINE, *SAME_TERM),
        ),
        "suse-license-gcp": repart(
            where(component="license", region="us-east4", sku_id="*SLES*"),
            unit_price=pl.col("unit_price") * 10,
        ),
        "metal-dedicated-aws": scale(
            "1.1", where(instance_type="*.metal*", tenancy="shared", region="us-east-1")
        ),
        # exchanges
        "region-copied-aws": take(region("us-gov-west-1"), region("us-east-1"), *ELSEWHERE),
        "region-copied-linode": take(region("us-ord"), region("br-gru"), *ELSEWHERE),
        "regions-exchanged-azure": exchange(
            "region", "westeurope", "francecentral", machine("Standard_E*ads_v5")
        ),
        "next-line-azure": next_line(
            where(region="westeurope", tenancy="shared") & LINUX & ON_DEMAND
        ),
        "next-line-scaleway": next_line(EVERY),
        # new things
        "new-two-for-one-runpod": together(
            launch(machine("1x NVIDIA B200"), instance_type="2x NVIDIA B200"),
            devices(2, machine("2x NVIDIA B200")),
        ),
        "new-family-flat-scaleway": together(
            launch(machine("B300-SXM*"), instance_type=renamed("B300", "B302"), family="B302"),
            by_figure("accelerator_count", machine("B302-SXM*"), divide=True),
        ),
        "new-region-doubled-gcp": together(
            launch(region("us-east4"), region="us-south9", sku_id=pl.col("sku_id") + "-S9"),
            reprice("2", region("us-south9")),
        ),
        "new-region-half-aws": together(
            launch(region("us-east-1"), region="us-south-9"), scale("0.5", region("us-south-9"))
        ),
        "new-family-tenth-gcp": together(
            launch(
                machine("n4-standard-*"),
                instance_type=renamed("n4-", "n9-"),
                family="n9-standard",
                series="n9",
            ),
            repart(machine("n9-standard-*"), unit_price=pl.col("unit_price") / 10),
        ),
        "new-gpu-half-devices-aws": together(
            launch(machine("p5en.48xlarge"), instance_type="p5es.48xlarge"),
            devices(0.5, machine("p5es.48xlarge")),
        ),
        "new-memory-mb-azure": together(
            launch(machine("Standard_E*as_v5"), instance_type=renamed("_v5", "_v9")),
            types(machine("Standard_E*as_v9"), memory_gib=pl.col("memory_gib") * 1024),
        ),
        "new-option-above-aws": saved("1.5"),
        "new-currency-azure": together(
            launch(region("westeurope"), ["prices"], currency="GBP"),
            scale("10", where(currency="GBP")),
        ),
        # time
        "drift-h100-aws": creeping("-1.9", P5),
        "drift-ovh": creeping("2", EVERY),
        "drift-family-azure": of_machines(creeping("1", machine("Standard_E*as_v5"))),
        "stale-list-azure": together(
            older("prices", "effective_from", 365), scale("1.05", region("westeurope"))
        ),
        "stale-sheet-lambda": together(
            *(
                older(t, "observed_at", 200)
                for t in ("prices", "price_components", "instance_types")
            )
        ),
        "observed-ahead-aws": older("prices", "observed_at", -400),
        "observed-behind-gcp": older("prices", "observed_at", 365, region("us-east4")),
        "effective-ahead-azure": edit("prices", region("westeurope"), effective_from=at(2062)),
        "retired-yesterday-azure": types(EVERY, retirement_date=pl.lit(date(2026, 11, 20))),
        "retired-1970-azure": types(
            machine("Standard_D*s_v5"), retirement_date=pl.lit(date(1970, 1, 1))
        ),
        # facts
        "memory-mb-aws": types(EVERY, memory_gib=pl.col("memory_gib") * 1024),
        "memory-gb-azure": types(
            machine("Standard_E*as_v5"), memory_gib=pl.col("memory_gib") * 0.931322575
        ),
        "memory-doubled-gcp": types(
            machine("n2-highmem-8", "n2-highmem-16"), memory_gib=pl.col("memory_gib") * 2
        ),
        "cores-as-vcpus-aws": types(where(family="m7i"), vcpus=pl.col("vcpus") // 2),
        "gpus-halved-aws": devices(0.5, where(family=["p4d", "p4de", "p5", "p5en"])),
        "gpu-memory-azure": types(
            machine("Standard_ND96*"), accelerator_memory_gib=pl.col("accelerator_memory_gib") / 8
        ),
        "other-gpu-gcp": accelerators(
            machine("a3-highgpu-*"),
            accelerator_id=pl.lit("nvidia-a100-sxm4-40gb"),
            memory_gib=pl.lit(40.0),
        ),
        "disks-azure": types(EVERY, local_disk_gib=pl.col("local_disk_gib") * 1024),
        "network-bytes-aws": types(
            EVERY,
            network_gbps_max=pl.col("network_gbps_max") / 8,
            network_gbps_baseline=pl.col("network_gbps_baseline") / 8,
        ),
        "saving-complement-aws": edit(
            "spot_advice", EVERY, saving_percent=100 - pl.col("saving_percent")
        ),
        "coordinates-azure": trade(
            "regions", "latitude", "longitude", pl.col("longitude").abs() <= 90
        ),
        "longitude-sign-azure": edit(
            "regions", pl.col("longitude") < 0, longitude=-pl.col("longitude")
        ),
        "metal-burstable-aws": types(EVERY, bare_metal=True, burstable=True),
        "memory-and-cores-ovh": trade("instance_types", "vcpus", "memory_gib"),
        # tables
        "zones-empty-aws": drop(EVERY, "zones"),
        "components-empty-gcp": drop(EVERY, "component_prices", "price_components"),
        "spot-advice-empty-aws": drop(EVERY, "spot_advice"),
        "offers-one-zone-aws": drop(pl.col("zone") != "us-east-1a", "availability"),
        "offers-flipped-azure": together(
            edit("availability", EVERY, offered=~pl.col("offered")),
            edit("availability", EVERY, restricted=~pl.col("restricted").fill_null(False)),
        ),
        "types-lost-aws": drop(machine("r5.*"), "instance_types"),
        "prices-lost-aws": drop(where(instance_type="c6i.*", region="us-east-1")),
        # provenance
        "other-page-aws": edit(
            "prices",
            region("us-east-1"),
            source_url=pl.col("source_url").sort_by("region").first(),
            raw_sha256=pl.col("raw_sha256").sort_by("region").first(),
        ),
        "basis-gcp": edit("prices", EVERY, basis="listed"),
        "sku-list-thousand-gcp": edit("component_prices", EVERY, hourly=pl.col("hourly") * 1000),
        "gpu-part-missing-gcp": repart(
            where(instance_type="g2-*", region="europe-west4", component="gpu"),
            unit_price=pl.lit(0),
        ),
        "parts-lambda": edit(
            "price_components", EVERY, unit_price=pl.col("unit_price") * pl.col("quantity")
        ),
    },
)


H200 = machine("Standard_ND96isr_H200_v5")

SPOT_KEY = ("region", "instance_type", "os", "software", "license_model", "tenancy", "currency")


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
        scale(factor, rows), edit("prices", EVERY, raw_sha256=digest, effective_from=NOVEMBER)
    )


SPOT_MONTH = {"c2": "0.7", "c2d": "1.2", "c3": "1.2", "c3d": "0.8", "c4": "1.3", "c4a": "0.9",
              "c4d": "0.75", "e2": "1.1", "n1": "1.05", "n2": "0.65", "n2d": "1.25", "n4": "0.72",
              "t2a": "0.88", "t2d": "1.12", "a2": "0.82", "a3": "0.6", "g2": "0.62"}  # fmt: skip

EUR_PRICE = (pl.col("unit_price") * Decimal("0.92")).cast(Money)

NOVEMBER = pl.lit(datetime(2026, 11, 22, tzinfo=UTC))


EVENTS = read_cases(
    "events",
    {
        # cuts
        "p5-cut-aws": beside_licenses(
            scale("0.56", machine("p5.*")),
            scale("0.67", machine("p4d.*", "p4de.*")),
            scale("0.75", machine("p5en.*")),
        ),
        "a3-cut-gcp": reprice(
            "0.6", where(component=["gpu:nvidia-h100-80gb", "gpu:nvidia-h100-mega-80gb"])
        ),
        "h100-cut-azure": of_machines(scale("0.65", machine("*H100_v5"))),
        "region-raised-azure": of_machines(
            scale("1.1", where(region="westeurope", purchase_option=["on_demand", "reserved"]))
        ),
        "renamed-runpod": name_again("NVIDIA ", ""),
        "coreweave-list": new_sheet(
            "0.8", machine("NVIDIA HGX H100", "NVIDIA HGX H200"), "coreweave"
        ),
        "digitalocean-list": new_sheet("1.3", EVERY, "digitalocean"),
        "together-cut": scale("0.55", machine("NVIDIA HGX H100")),
        "series-raised-gcp": reprice("1.05", where(series="c3")),
        "spot-crash-azure": of_machines(market(SPOT & region("westeurope"), 0.5, 0.7)),
        "crusoe-prices": edit(
            "prices",
            machine("NVIDIA B200 180GB HGX") & ON_DEMAND,
            hourly=pl.lit("6.50").cast(pl.Decimal(20, 10)),
            effective_hourly=pl.lit("6.50").cast(pl.Decimal(20, 10)),
            price_reason=None,
        ),
        # launches
        "region-aws": together(
            launch(region("us-east-1"), region="us-south-9"), scale("1.05", region("us-south-9"))
        ),
        "region-gcp": launch(
            region("us-east4"), region="us-south9", sku_id=pl.col("sku_id") + "-S9"
        ),
        "region-azure": of_machines(
            launch(region("francecentral"), region="francewest9"),
            scale("1.08", region("francewest9")),
        ),
        "family-aws": together(
            launch(
                machine("m7i.*"), instance_type=renamed("m7i.", "m9i."), family="m9i", series="m9i"
            ),
            scale("1.05", machine("m9i.*")),
        ),
        "gpu-azure": of_machines(
            launch(H200, instance_type="Standard_ND96isr_B300_v6", family="standardNDv6Family"),
            scale("1.4", machine("Standard_ND96isr_B300_v6")),
            types(
                machine("Standard_ND96isr_B300_v6"),
                accelerators=pl.col("accelerators").list.eval(
                    pl.element().struct.with_fields(
                        accelerator_id=pl.lit("nvidia-b300"), memory_gib=pl.lit(288.0)
                    )
                ),
                accelerator_memory_gib=pl.lit(2304.0),
            ),
        ),
        "gpu-nebius": together(
            launch(machine("NVIDIA HGX H200"), instance_type="NVIDIA HGX H200 with NVLink"),
            scale("1.05", machine("NVIDIA HGX H200 with NVLink")),
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
        "option-aws": saved("0.73"),
        # markets
        "spot-doubled-aws": together(scale("2", SPOT & where(zone="us-east-1c")), flagged_spot),
        "spot-raised-azure": together(
            of_machines(market(SPOT & region("francecentral"), 1.2, 1.9)), flagged_spot
        ),
        "spot-repriced-gcp": together(
            *(reprice(factor, SPOT & where(series=name)) for name, factor in SPOT_MONTH.items())
        ),
        "community-runpod": market(region("community"), 0.7, 1.3),
        # ends
        "generation-retired-aws": drop(
            machine("m3.*", "c3.*", "r3.*", "i2.*", "g2.*"),
            "prices",
            "availability",
            "spot_advice",
            "instance_types",
        ),
        "retirement-announced-azure": types(
            machine("Standard_DS*_v2"), retirement_date=pl.lit(date(2028, 11, 15))
        ),
        "region-closed-azure": drop(
            region("qatarcentral"),
            *("prices", "price_components", "availability", "regions", "zones"),
        ),
        "memory-corrected-oracle": types(machine("BM.GPU.RTXPRO.8"), memory_gib=pl.lit(2304.0)),
        "memory-cut-gcp": reprice(
            "0.75",
            where(series=["m1", "m2", "m3"], region=["us-central1", "us-east4", "europe-west4"]),
        ),
    },
)
