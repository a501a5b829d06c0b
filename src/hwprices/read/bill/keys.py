"""Read what a line of a bill charges for: machine, system, tenancy, unit.

A bill has millions of lines and few kinds of them. All that is read from texts is read once for
each distinct combination of ``formats.KIND``.
"""

import polars as pl

from hwprices.read.bill.formats import KIND
from hwprices.units import HOURS_PER_MONTH

KEY = "key"
"""The hash of ``formats.KIND``, which the reader adds to each line. It has 64 bits: two of 100,000
kinds share one with a probability of 3e-10."""

COMPUTE = {
    "aws": r"(?i)^amazonec2$|elastic compute cloud",
    "azure": r"(?i)virtual machines",
    "gcp": r"(?i)^compute engine$",
    "oracle": r"(?i)^compute$",
}
"""Provider: how its bills name the service that rents machines, the one that is collected."""

AWS_TYPE = r"[a-z][a-z0-9-]*\.(?:\d*x?large|medium|small|micro|nano|metal(?:-[a-z0-9]+)?)"
"""An instance type of AWS: g5.4xlarge, u7i-12tb.224xlarge, c7i.metal-24xl."""

IN_DETAILS = (
    r'"(?:InstanceType|instanceType|instance_type|ServiceType|compute\.googleapis\.com/machine_spec)'
    r'"\s*:\s*"([^"]+)"'
)
"""How FOCUS (SkuPriceDetails), AWS (product), Azure (AdditionalInfo) and Google name the type."""

IN_USAGE_TYPE = rf"(?:BoxUsage|SpotUsage|DedicatedUsage)[A-Za-z]*:({AWS_TYPE})"
IN_DESCRIPTION = rf"(?:^|\s)({AWS_TYPE})\b.*?[Ii]nstance[ -][Hh]our"

NOT_MACHINE_HOURS = {
    "aws": r"EBSOptimized|CPUCredits|Mbps per ",
    "gcp": r"(?i)\b(?:core|ram|gpu|local storage)\b.* (?:running|in) ",
}
"""What is billed under a machine's name and is not its hours: Google's are those of a component."""

SYSTEMS = {
    r"red hat|rhel": "rhel",
    r"suse|sles": "sles",
    r"ubuntu pro": "ubuntu_pro",
    r"windows": "windows",
    r"linux|unix|ubuntu|debian|centos": "linux",
}
"""Words for a system, the most specific first; with high availability or SAP it is not one."""

SOFTWARE = {
    r"sql\s*(?:server)?\s*ent": "sql_ent",
    r"sql\s*(?:server)?\s*(?:std|standard)": "sql_std",
    r"sql\s*(?:server)?\s*web": "sql_web",
}

UNITS = {r"month|/\s*mo\b": HOURS_PER_MONTH, r"hour|\bhrs?\b|^h$": 1}
"""Words for the time in a unit: how many hours it is. Others are not read."""


def distinct(lines: pl.LazyFrame) -> pl.DataFrame:
    """Return the distinct combinations of ``formats.KIND`` with their ``key``, described."""
    kinds = lines.group_by(KEY).agg(pl.col(KIND).first())
    return described(kinds.collect(engine="streaming").sort(KEY))


def described(keys: pl.DataFrame) -> pl.DataFrame:
    """Add what the texts say: type, os, software, tenancy, place, hours, block, compute, bought.

    ``type`` is the machine type in lower case, null where the line is about none. ``os`` is null
    where nothing states it. ``hours`` is how many hours one unit of quantity is. ``sku_id`` is the
    SKU, of AWS that of the rate code where no column has it.
    """
    details = pl.col("details").fill_null("")
    usage = pl.col("usage_type").fill_null("")
    description = pl.col("description").fill_null("")
    system = details.str.extract(
        r'"(?i:operating_?system|x_operatingsystem)"\s*:\s*"([^"]+)"'
    ).fill_null("")
    software = details.str.extract(r'"(?i:preinstalledsw|pre_installed_sw)"\s*:\s*"([^"]+)"')
    words = pl.concat_str(system, software.fill_null(""), usage, description, separator=" ")
    tenancy = pl.concat_str(
        details.str.extract(r'"(?i:x?_?tenancy)"\s*:\s*"([^"]+)"').fill_null(""),
        usage,
        separator=" ",
    )
    service = pl.col("service").fill_null("")
    compute = pl.any_horizontal(
        (pl.col("provider") == provider) & service.str.contains(pattern)
        for provider, pattern in COMPUTE.items()
    )
    other = ~pl.col("provider").is_in(list(COMPUTE))
    machine = pl.coalesce(
        "machine",
        details.str.extract(IN_DETAILS),
        usage.str.extract(IN_USAGE_TYPE),
        description.str.extract(IN_DESCRIPTION),
    )
    beside = pl.any_horizontal(
        (pl.col("provider") == provider) & pl.concat_str(usage, description).str.contains(pattern)
        for provider, pattern in NOT_MACHINE_HOURS.items()
    )
    unit = pl.col("unit").str.to_lowercase().fill_null("")
    block = unit.str.extract(r"^(\d+)\s").cast(pl.Int64).fill_null(1)
    return keys.with_columns(
        sku_id=pl.coalesce("sku", pl.col("rate").str.split(".").list.first()),
        compute=compute | other,
        type=pl.when((compute & ~beside) | other).then(machine.str.to_lowercase()),
        os=_first(words, SYSTEMS),
        software=_first(words, SOFTWARE).fill_null("none"),
        tenancy=pl.when(tenancy.str.contains(r"(?i)dedicated"))
        .then(pl.lit("dedicated"))
        .when(tenancy.str.contains(r"(?i)\bhost\b"))
        .then(pl.lit("host"))
        .otherwise(pl.lit("shared")),
        place=plain_place(pl.col("region")),
        hours=_first(unit, {pattern: str(hours) for pattern, hours in UNITS.items()}).cast(
            pl.Int64
        ),
        block=block,
        bought=pl.when(
            (pl.col("option") == "spot")
            | usage.str.contains("SpotUsage|Spot$")
            | details.str.contains(r'"x_Preemptible":\s*"?true')
        )
        .then(pl.lit("spot"))
        .when(pl.col("option") == "committed")
        .then(pl.lit("committed"))
        .otherwise(pl.lit("on_demand")),
    )


def plain_place(region: pl.Expr) -> pl.Expr:
    """Write a region as all bills do once case, spaces and hyphens are gone: "East US" → eastus."""
    return region.str.to_lowercase().str.replace_all(r"[\s_-]", "")


def _first(text: pl.Expr, patterns: dict[str, str]) -> pl.Expr:
    """Return the word of the first pattern that a text contains, or null."""
    return pl.coalesce(
        pl.when(text.str.contains(f"(?i){pattern}")).then(pl.lit(word))
        for pattern, word in patterns.items()
    )
