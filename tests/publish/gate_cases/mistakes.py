"""One hundred mistakes: a page misread, a vendor's slip, a fault of ours. None may be published."""

from datetime import UTC, date, datetime, timedelta

import polars as pl
from tests.publish.gate_cases import (
    EVERY,
    MONEY,
    Case,
    Change,
    Tables,
    by_figure,
    creeping,
    drop,
    edit,
    exchange,
    launch,
    of_machines,
    one_in,
    repart,
    reprice,
    scale,
    take,
    together,
    where,
)

ON_DEMAND = where(purchase_option="on_demand")
SPOT = where(purchase_option="spot")
RESERVED = where(purchase_option="reserved")
LINUX = where(os="linux")
P5 = where(instance_type="p5.*")
AZURE_H100 = where(instance_type="*H100_v5")

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
    return edit("instance_types", rows, accelerators=changed)


def halved_devices(rows: pl.Expr) -> Change:
    """Machines with half of their accelerators."""
    count = accelerators(rows, count=pl.field("count") / 2)
    columns = ("accelerator_count", "accelerator_memory_gib")
    return together(count, edit("instance_types", rows, **{c: pl.col(c) / 2 for c in columns}))


def at(year: int, month: int = 1, day: int = 1) -> pl.Expr:
    return pl.lit(datetime(year, month, day, tzinfo=UTC))


def older(table: str, column: str, days: int, rows: pl.Expr = EVERY) -> Change:
    """A date of some rows that lies further back, or ahead if ``days`` is negative."""
    return edit(table, rows, **{column: pl.col(column) - timedelta(days=days)})


LEVELS = [
    Case("h100-tenth-aws", "P5 prices lost a digit before the point.", "aws", scale("0.1", P5)),
    Case(
        "h100-tenth-azure",
        "Every price of an H100 machine was read at a tenth.",
        "azure",
        scale("0.1", AZURE_H100),
    ),
    Case(
        "h100-tenth-gcp",
        "The SKUs of the H100 were read at a tenth; machine and parts agree.",
        "gcp",
        reprice("0.1", where(component="gpu:nvidia-h100-80gb")),
    ),
    Case(
        "h100-tenth-coreweave",
        "The H100 line of the price sheet lost its last digit.",
        "coreweave",
        scale("0.1", where(instance_type="NVIDIA HGX H100")),
    ),
    Case(
        "h100-point-lambda",
        "The decimal point of the 8x H100 line was lost.",
        "lambda",
        repart(where(instance_type="8x NVIDIA H100*"), unit_price=pl.col("unit_price") * 100),
    ),
    Case(
        "cents-nebius",
        "The sheet changed to cents, which were read as dollars.",
        "nebius",
        scale("100"),
    ),
    Case(
        "cents-together",
        "One dollar price was taken for cents.",
        "together",
        scale("0.01", where(instance_type="NVIDIA HGX H200")),
    ),
    Case(
        "rate-of-device-oracle",
        "GPU machines were published at the price of one GPU; parts as well.",
        "oracle",
        repart(where(component="slice", instance_type="BM.GPU*"), quantity=pl.lit(1)),
    ),
    Case(
        "rate-of-device-coreweave",
        "The rate of one GPU was taken for that of the machine.",
        "coreweave",
        by_figure("accelerator_count", EVERY, divide=True),
    ),
    Case(
        "machine-as-device-crusoe",
        "The sheet showed the price of eight GPUs, read as that of one.",
        "crusoe",
        scale("8"),
    ),
    Case(
        "device-times-eight-runpod",
        "The price of one GPU was multiplied by eight.",
        "runpod",
        scale("8", where(instance_type="1x NVIDIA L40S")),
    ),
    Case(
        "month-as-hour-azure",
        "One series was listed by the month and read by the hour.",
        "azure",
        scale("730", where(instance_type="Standard_D*s_v5") & ON_DEMAND),
    ),
    Case(
        "month-as-hour-aws",
        "One machine in one region had its price of a month.",
        "aws",
        scale("730", where(instance_type="m5.large", region="us-east-1") & ON_DEMAND),
    ),
    Case(
        "month-as-hour-ovh",
        "The column of the price a month was read instead of the hour's.",
        "ovh",
        scale("730"),
    ),
    Case(
        "hour-as-minute-azure",
        "Low-priority prices of Linux were divided by sixty.",
        "azure",
        scale("0.0166666667", where(purchase_option="low_priority") & LINUX),
    ),
    Case(
        "hour-as-second-gcp",
        "Spot SKUs of one region were taken for prices of an hour and divided.",
        "gcp",
        reprice("0.0002777778", where(region="europe-west4") & SPOT),
    ),
    Case(
        "vcpu-as-machine-aws",
        "A family's rate per vCPU was published as the machine's.",
        "aws",
        by_figure("vcpus", where(instance_type="r7i.*"), divide=True),
    ),
    Case(
        "core-only-gcp",
        "The machine price has no memory part, although the memory SKU is there.",
        "gcp",
        repart(where(instance_type="n2-standard-*", component="ram"), unit_price=pl.lit(0)),
    ),
    Case(
        "ocpu-as-vcpu-oracle",
        "Each vCPU was charged at the rate of an OCPU, which is two.",
        "oracle",
        repart(
            where(component="core", instance_type="VM.Standard.E5*"),
            quantity=pl.col("quantity") * 2,
        ),
    ),
    Case(
        "one-price-azure",
        "A single Windows price is ten thousand times too high.",
        "azure",
        scale(
            "10000",
            where(instance_type="Standard_E8s_v5", region="westeurope", os="windows") & ON_DEMAND,
        ),
    ),
    Case(
        "scattered-thousand-aws",
        "One price in two hundred was read in thousandths.",
        "aws",
        scale("1000", one_in(200)),
    ),
    Case(
        "scattered-half-azure",
        "One on-demand price in three hundred was halved by a stale cache.",
        "azure",
        scale("0.5", one_in(300) & ON_DEMAND),
    ),
    Case("rounded-aws", "All prices were rounded to cents.", "aws", rounded(2)),
    Case(
        "rounded-gcp",
        "Prices of the large-memory machines were cut to dollars; their parts were not.",
        "gcp",
        rounded(0, where(instance_type="m*-*mem-*")),
    ),
]

CURRENCIES = [
    Case(
        "yuan-as-dollar-aws",
        "Prices in yuan were labeled USD.",
        "aws",
        edit("prices", where(region="cn-north-1"), currency="USD"),
    ),
    Case(
        "dollar-as-euro-aws",
        "One region's dollar prices were labeled EUR.",
        "aws",
        edit("prices", where(region="us-gov-west-1"), currency="EUR"),
    ),
    Case(
        "euro-as-dollar-ovh",
        "The label USD on every euro price.",
        "ovh",
        edit("prices", EVERY, currency="USD"),
    ),
    Case(
        "euro-as-dollar-scaleway",
        "Euro prices of the H100 machines were labeled USD.",
        "scaleway",
        edit("prices", where(instance_type="H100*"), currency="USD"),
    ),
    Case(
        "euro-amount-azure",
        "A region's prices were requested in euros and kept the label USD.",
        "azure",
        scale("0.92", where(region="francecentral")),
    ),
    Case(
        "yen-amount-azure",
        "One family's prices came in yen under the label USD.",
        "azure",
        scale("150", where(instance_type="Standard_E*as_v5", region="westeurope")),
    ),
]

OPTIONS = [
    Case(
        "spot-market-aws",
        "One spot market at four times its price, above on-demand.",
        "aws",
        scale("4", SPOT & where(zone="us-east-1a")),
    ),
    Case(
        "spot-is-on-demand-azure",
        "The spot price of one series is the on-demand price.",
        "azure",
        take(
            SPOT & where(instance_type="Standard_D*ads_v5"),
            ON_DEMAND,
            *(*SAME_MACHINE, *SAME_SYSTEM),
        ),
    ),
    Case(
        "spot-on-demand-gcp",
        "Spot and on-demand of one family changed places.",
        "gcp",
        together(
            reprice("0.4", ON_DEMAND & where(series="c3")),
            reprice("2.5", SPOT & where(series="c3")),
        ),
    ),
    Case(
        "three-years-azure",
        "Reservations of three years cost twice what they should.",
        "azure",
        scale("2", RESERVED & where(term_months=36)),
    ),
    Case(
        "three-years-gcp",
        "One series has the one-year price on its three-year commitments.",
        "gcp",
        take(
            where(instance_type="n2d-*", term_months=36),
            where(instance_type="n2d-*", term_months=12),
            *(*SAME_MACHINE, *SAME_SYSTEM, *SAME_PLAN),
        ),
    ),
    Case(
        "terms-exchanged-gcp",
        "One and three years changed places in one region.",
        "gcp",
        exchange("term_months", "12", "36", where(region="us-east4")),
    ),
    Case(
        "fee-over-one-year-aws",
        "The fee of three years was spread over one.",
        "aws",
        scale("3", where(term_months=36, payment_option="all_upfront"), "effective_hourly"),
    ),
    Case(
        "upfront-lost-aws",
        "Upfront fees were lost; the effective price stayed.",
        "aws",
        edit("prices", where(payment_option="all_upfront"), upfront=None),
    ),
    Case(
        "upfront-as-hour-azure",
        "The fee of the term stands in the column of the hour.",
        "azure",
        edit("prices", where(payment_option="all_upfront"), effective_hourly=pl.col("upfront")),
    ),
    Case(
        "upfront-hourly-aws",
        "Columns of fee and hour were exchanged.",
        "aws",
        edit(
            "prices",
            RESERVED,
            hourly=pl.col("upfront").fill_null(0),
            upfront=pl.when(pl.col("hourly") > 0).then("hourly"),
        ),
    ),
    Case(
        "effective-only-aws",
        "The effective price of no-upfront reservations is half of the hourly one.",
        "aws",
        scale("0.5", where(payment_option="no_upfront"), "effective_hourly"),
    ),
    Case(
        "commitments-lost-gcp",
        "The one-year commitments of a region have no price any more.",
        "gcp",
        edit(
            "prices",
            where(region="us-central1", term_months=12),
            **dict.fromkeys(MONEY),
            price_reason="core_sku_missing",
        ),
    ),
    Case(
        "windows-license-azure",
        "One series has the Linux price on its Windows machines: the license is missing.",
        "azure",
        take(
            where(instance_type="Standard_F*s_v2", os="windows", license_model="included"),
            LINUX,
            *(*SAME_MACHINE, *SAME_TERM),
        ),
    ),
    Case(
        "windows-license-gcp",
        "A family's Windows machines have no license among their parts.",
        "gcp",
        repart(
            where(instance_type="c3-standard-*", component="license", sku_id="*WINDOWS*"),
            unit_price=pl.lit(0),
        ),
    ),
    Case(
        "systems-exchanged-aws",
        "Windows and Linux of one machine changed places.",
        "aws",
        exchange("os", "linux", "windows", where(software="none")),
    ),
    Case(
        "sql-edition-aws",
        "SQL Server Enterprise has the price of the Web edition.",
        "aws",
        take(
            where(software="sql_ent"),
            where(software="sql_web"),
            *(*SAME_MACHINE, "os", "license_model", *SAME_TERM),
        ),
    ),
    Case(
        "red-hat-free-aws",
        "Red Hat costs what Linux costs.",
        "aws",
        take(
            where(os="rhel"),
            LINUX,
            *(*SAME_MACHINE, "software", "license_model", *SAME_TERM),
        ),
    ),
    Case(
        "byol-with-license-azure",
        "Windows with a license of your own has the license in its price.",
        "azure",
        take(
            where(os="windows", license_model="byol"),
            where(os="windows", license_model="included"),
            *(*SAME_MACHINE, *SAME_TERM),
        ),
    ),
    Case(
        "suse-license-gcp",
        "The SUSE license is ten times its price in one region.",
        "gcp",
        repart(
            where(component="license", region="us-east4", sku_id="*SLES*"),
            unit_price=pl.col("unit_price") * 10,
        ),
    ),
    Case(
        "metal-dedicated-aws",
        "Shared bare metal has the price of dedicated tenancy.",
        "aws",
        scale("1.1", where(instance_type="*.metal*", tenancy="shared", region="us-east-1")),
    ),
]

EXCHANGES = [
    Case(
        "region-copied-aws",
        "The page of us-east-1 was parsed as that of us-gov-west-1.",
        "aws",
        take(where(region="us-gov-west-1"), where(region="us-east-1"), *ELSEWHERE),
    ),
    Case(
        "region-copied-gcp",
        "europe-west4 has the prices of us-central1; its parts are its own.",
        "gcp",
        take(where(region="europe-west4"), where(region="us-central1"), *ELSEWHERE),
    ),
    Case(
        "types-exchanged-digitalocean",
        "Two lines of the sheet changed places.",
        "digitalocean",
        exchange("instance_type", "NVIDIA H200", "NVIDIA L40s"),
    ),
    Case(
        "next-line-azure",
        "Linux prices of a region slipped by one line.",
        "azure",
        next_line(where(region="westeurope", tenancy="shared") & LINUX & ON_DEMAND),
    ),
    Case("next-line-scaleway", "All prices slipped by one line.", "scaleway", next_line(EVERY)),
]

NEW_THINGS = [
    Case(
        "new-type-thousandth-aws",
        "A new size of m7i arrived at a thousandth of its price.",
        "aws",
        together(
            launch(where(instance_type="m7i.large"), instance_type="m7i.3xlarge"),
            scale("0.001", where(instance_type="m7i.3xlarge")),
        ),
        tables=("prices",),
    ),
    Case(
        "new-gpu-tenth-azure",
        "A new H200 machine arrived at a tenth.",
        "azure",
        together(
            launch(
                where(instance_type="Standard_ND96isr_H200_v5"),
                instance_type="Standard_ND96is_H200_v6",
            ),
            scale("0.1", where(instance_type="Standard_ND96is_H200_v6")),
        ),
        tables=("prices",),
    ),
    Case(
        "new-region-doubled-gcp",
        "A new region opened with every SKU at twice its price.",
        "gcp",
        together(
            launch(where(region="us-east4"), region="us-south9", sku_id=pl.col("sku_id") + "-S9"),
            reprice("2", where(region="us-south9")),
        ),
        tables=("prices", "price_components", "component_prices"),
    ),
    Case(
        "new-region-half-aws",
        "A new region opened at half of the prices of its neighbor.",
        "aws",
        together(
            launch(where(region="us-east-1"), region="us-south-9"),
            scale("0.5", where(region="us-south-9")),
        ),
        tables=("prices",),
    ),
    Case(
        "new-family-tenth-gcp",
        "A new family arrived at a tenth, and its parts with it.",
        "gcp",
        together(
            launch(
                where(instance_type="n4-standard-*"),
                instance_type=renamed("n4-", "n9-"),
                family="n9-standard",
                series="n9",
            ),
            repart(where(instance_type="n9-standard-*"), unit_price=pl.col("unit_price") / 10),
        ),
        tables=("prices", "price_components"),
    ),
    Case(
        "new-gpu-half-devices-aws",
        "A new P5 machine was read with four of its eight GPUs.",
        "aws",
        together(
            launch(where(instance_type="p5en.48xlarge"), instance_type="p5es.48xlarge"),
            halved_devices(where(instance_type="p5es.48xlarge")),
        ),
        tables=("instance_types",),
    ),
    Case(
        "new-memory-mb-azure",
        "A new series was read with its memory in MiB.",
        "azure",
        together(
            launch(where(instance_type="Standard_E*as_v5"), instance_type=renamed("_v5", "_v9")),
            edit(
                "instance_types",
                where(instance_type="Standard_E*as_v9"),
                memory_gib=pl.col("memory_gib") * 1024,
            ),
        ),
        tables=("instance_types",),
    ),
    Case(
        "new-option-above-aws",
        "Savings plans arrived at one and a half times the on-demand price.",
        "aws",
        together(
            launch(
                ON_DEMAND & LINUX & where(tenancy="shared"),
                ["prices"],
                purchase_option="savings_plan",
                commitment_plan="compute",
                term_months=12,
                payment_option="no_upfront",
            ),
            scale("1.5", where(purchase_option="savings_plan")),
        ),
    ),
    Case(
        "new-currency-azure",
        "Prices in pounds arrived with ten times the dollar amounts.",
        "azure",
        together(
            launch(where(region="westeurope"), ["prices"], currency="GBP"),
            scale("10", where(currency="GBP")),
        ),
    ),
]

TIME = [
    Case(
        "drift-h100-aws",
        "P5 prices lose 1.9 % a day: a conversion is applied to its own result.",
        "aws",
        creeping("-1.9", P5),
        days=12,
        slack=0.15,
    ),
    Case(
        "drift-commitments-gcp",
        "One-year prices lose 1 % a day; their parts stay.",
        "gcp",
        creeping("-1", where(term_months=12)),
        days=20,
        slack=0.15,
    ),
    Case(
        "drift-family-azure",
        "One series gains 1 % a day.",
        "azure",
        of_machines(creeping("1", where(instance_type="Standard_E*as_v5"))),
        days=20,
        slack=0.15,
    ),
    Case(
        "stale-list-azure",
        "The list of a year ago was served again, with the prices of then.",
        "azure",
        together(older("prices", "effective_from", 365), scale("1.05", where(region="westeurope"))),
    ),
    Case(
        "stale-sheet-lambda",
        "The sheet of last spring took the place of the current one.",
        "lambda",
        together(
            *(
                older(t, "observed_at", 200)
                for t in ("prices", "price_components", "instance_types")
            )
        ),
    ),
    Case(
        "observed-ahead-aws",
        "Our clock is a year ahead.",
        "aws",
        older("prices", "observed_at", -400),
    ),
    Case(
        "observed-behind-gcp",
        "The rows of one region say that they were seen a year ago.",
        "gcp",
        older("prices", "observed_at", 365, where(region="us-east4")),
    ),
    Case(
        "effective-ahead-azure",
        "Two-digit years were read as 2062.",
        "azure",
        edit("prices", where(region="westeurope"), effective_from=at(2062)),
    ),
    Case(
        "retired-yesterday-azure",
        "The date of the page was taken for the date of retirement.",
        "azure",
        edit("instance_types", EVERY, retirement_date=pl.lit(date(2026, 11, 20))),
    ),
    Case(
        "retired-1970-azure",
        "An empty date of one family was read as zero.",
        "azure",
        edit(
            "instance_types",
            where(instance_type="Standard_D*s_v5"),
            retirement_date=pl.lit(date(1970, 1, 1)),
        ),
    ),
]

FACTS = [
    Case(
        "memory-mb-aws",
        "Memory in MiB was published as GiB.",
        "aws",
        edit("instance_types", EVERY, memory_gib=pl.col("memory_gib") * 1024),
    ),
    Case(
        "memory-gb-azure",
        "One series' memory in GiB was taken for GB and converted.",
        "azure",
        edit(
            "instance_types",
            where(instance_type="Standard_E*as_v5"),
            memory_gib=pl.col("memory_gib") * 0.931322575,
        ),
    ),
    Case(
        "memory-doubled-gcp",
        "The memory of two sizes of a family was doubled.",
        "gcp",
        edit(
            "instance_types",
            where(instance_type=["n2-highmem-8", "n2-highmem-16"]),
            memory_gib=pl.col("memory_gib") * 2,
        ),
    ),
    Case(
        "cores-as-vcpus-aws",
        "The cores of a family were published as its vCPUs.",
        "aws",
        edit("instance_types", where(family="m7i"), vcpus=pl.col("vcpus") // 2),
    ),
    Case(
        "gpus-halved-aws",
        "Machines with eight H100 or A100 were published with four.",
        "aws",
        halved_devices(where(family=["p4d", "p4de", "p5", "p5en"])),
    ),
    Case(
        "gpu-memory-azure",
        "The memory of one GPU was published as that of all.",
        "azure",
        edit(
            "instance_types",
            where(instance_type="Standard_ND96*"),
            accelerator_memory_gib=pl.col("accelerator_memory_gib") / 8,
        ),
    ),
    Case(
        "other-gpu-gcp",
        "A3 machines were published with A100s.",
        "gcp",
        accelerators(
            where(instance_type="a3-highgpu-*"),
            accelerator_id=pl.lit("nvidia-a100-sxm4-40gb"),
            memory_gib=pl.lit(40.0),
        ),
    ),
    Case(
        "disks-azure",
        "Local disks in MiB were published as GiB.",
        "azure",
        edit("instance_types", EVERY, local_disk_gib=pl.col("local_disk_gib") * 1024),
    ),
    Case(
        "network-bytes-aws",
        "Network speed was published in gigabytes.",
        "aws",
        edit(
            "instance_types",
            EVERY,
            network_gbps_max=pl.col("network_gbps_max") / 8,
            network_gbps_baseline=pl.col("network_gbps_baseline") / 8,
        ),
    ),
    Case(
        "vendor-aws",
        "Machines with Graviton were published as Intel.",
        "aws",
        edit("instance_types", where(family=["c7g", "m7g", "r7g"]), cpu_vendor="intel"),
    ),
    Case(
        "coordinates-azure",
        "Latitude and longitude changed places where both are possible.",
        "azure",
        trade("regions", "latitude", "longitude", pl.col("longitude").abs() <= 90),
    ),
    Case(
        "longitude-sign-azure",
        "Western longitudes lost their sign.",
        "azure",
        edit("regions", pl.col("longitude") < 0, longitude=-pl.col("longitude")),
    ),
    Case(
        "metal-burstable-aws",
        "Every machine is bare metal and burstable.",
        "aws",
        edit("instance_types", EVERY, bare_metal=True, burstable=True),
    ),
    Case(
        "memory-and-cores-ovh",
        "The columns of cores and memory were exchanged.",
        "ovh",
        trade("instance_types", "vcpus", "memory_gib"),
    ),
]

TABLES = [
    Case("zones-empty-aws", "The page of the zones was empty.", "aws", drop(EVERY, "zones")),
    Case(
        "components-empty-gcp",
        "Parts and the list of SKUs were empty, prices were not.",
        "gcp",
        drop(EVERY, "component_prices", "price_components"),
    ),
    Case("spot-advice-empty-aws", "The spot advice was empty.", "aws", drop(EVERY, "spot_advice")),
    Case(
        "offers-one-zone-aws",
        "Only the first zone's page of offers was read.",
        "aws",
        drop(pl.col("zone") != "us-east-1a", "availability"),
    ),
    Case(
        "offers-flipped-azure",
        "Restrictions were read as the opposite.",
        "azure",
        edit("availability", EVERY, offered=~pl.col("offered")),
    ),
    Case(
        "types-lost-aws",
        "A family lost its machine types, its prices stayed.",
        "aws",
        drop(where(instance_type="r5.*"), "instance_types"),
    ),
    Case(
        "prices-lost-aws",
        "A family's prices were lost in one region, where it is offered.",
        "aws",
        drop(where(instance_type="c6i.*", region="us-east-1")),
    ),
]

PROVENANCE = [
    Case(
        "other-page-aws",
        "The rows of us-east-1 name the page of another region.",
        "aws",
        edit(
            "prices",
            where(region="us-east-1"),
            source_url=pl.col("source_url").sort_by("region").first(),
            raw_sha256=pl.col("raw_sha256").sort_by("region").first(),
        ),
    ),
    Case(
        "basis-gcp",
        "Prices that are made of parts say that they are listed.",
        "gcp",
        edit("prices", EVERY, basis="listed"),
    ),
    Case(
        "sku-list-thousand-gcp",
        "The list of SKUs is in units of a thousandth; machines and their parts are right.",
        "gcp",
        edit("component_prices", EVERY, hourly=pl.col("hourly") * 1000),
    ),
    Case(
        "gpu-part-missing-gcp",
        "The GPU was left out of G2 machines in one region.",
        "gcp",
        repart(
            where(instance_type="g2-*", region="europe-west4", component="gpu"),
            unit_price=pl.lit(0),
        ),
    ),
    Case(
        "parts-lambda",
        "The part of each machine is the price of all of its GPUs.",
        "lambda",
        edit("price_components", EVERY, unit_price=pl.col("unit_price") * pl.col("quantity")),
    ),
]

MISTAKES = [
    *LEVELS,
    *CURRENCIES,
    *OPTIONS,
    *EXCHANGES,
    *NEW_THINGS,
    *TIME,
    *FACTS,
    *TABLES,
    *PROVENANCE,
]
