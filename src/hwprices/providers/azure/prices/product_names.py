"""Read what the names of products, SKUs and meters in the price list say.

Source: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices. The
price list writes the operating system only into the product's name, and not always in the same way.
"""

import polars as pl

SPACES = r"[\t\p{Zs}]{2,}|[\t\p{Zs}&&[^ ]]"
"""Blanks in names that are not one plain space: some product names have no-break spaces. Line
breaks and other control characters are not among them, so that a name with one is refused and not
repaired. A name with plain spaces only does not match, and is not written anew."""

WINDOWS = r"(?i) windows\b| win$"  # "… Series Windows", "… Srs Win"
RHEL = r"(?i)\b(rhel|red hat)\b"
SLES = r"(?i)\b(sles|suse)\b"
UBUNTU_PRO = r"(?i)\bubuntu pro\b"
SAP = r"(?i)\bsap\b"
HIGH_AVAILABILITY = r"(?i)\bha\b|high availability"
DEDICATED_HOST = r"(?i)dedicated ?host"
CLOUD_SERVICES = r"(?i)cloud ?services"
PROMO = r"(?i)\bpromo\b"
SPOT = r"(?i) spot$"
LOW_PRIORITY = r"(?i) low priority$"
VIRTUAL_MACHINES = r"(?i)^virtual machines\b"
LINUX = r"(?i) linux$"  # products from 2023 on say "…-series Linux" instead of nothing
_SERIES = r"(?i)^.*\b(?:series|srs)\b(.*)$"
_WITHOUT_SERIES = r"(?i)^(?:virtual machines )?\S+(.*)$"
"""What comes behind the series. Newer products have the series alone: "Virtual Machines
NCldsxlRTX6kv6 Windows"."""

_KNOWN_WORDS = (
    *(
        "windows",
        "win",
        "linux",
        "rhel",
        "red hat",
        "sles",
        "suse",
        "enterprise",
        "server",
        "ubuntu",
    ),
    *("pro", "sap", "for", "with", "ha", "high availability", "basic", "dedicated ?host", "promo"),
    *("cloud ?services", "spot", "low priority", "expired", r"(?:very )?(?:high|medium) memory"),
)
_KNOWN_TAIL = rf"(?i)^(?:[ -]*\b(?:{'|'.join(_KNOWN_WORDS)})\b)*$"
"""What a product's name may say behind the series, in any order."""

_LAST_WORDS = r"(?i)((?: [a-z]{2,})+)$"
_KNOWN_LAST_WORDS = r"(?i)^ (?:spot|low priority|promo|expired)$"


def tidy(column: str) -> pl.Expr:
    """Replace blanks in a name by single spaces, and strip it."""
    return pl.col(column).str.replace_all(SPACES, " ").str.strip_chars()


def unknown_words(product: pl.Expr) -> pl.Expr:
    """Find what a product's name (tidied) says behind the series and is not known, else null."""
    tail = pl.coalesce(product.str.extract(_SERIES), product.str.extract(_WITHOUT_SERIES))
    return pl.when(~tail.str.contains(_KNOWN_TAIL)).then(tail.str.strip_chars(" -"))


def unknown_option(name: pl.Expr, size: pl.Expr) -> pl.Expr:
    """Find words at the end of a SKU's or meter's name that are not known, else null.

    ``size``: armSkuName; what is in it is not an option: "DSv2 Promo".
    """
    words = name.str.extract(_LAST_WORDS)
    in_size = letters(size).str.contains(letters(words), literal=True)
    is_new = ~words.str.contains(_KNOWN_LAST_WORDS) & ~in_size.fill_null(False)
    return pl.when(is_new).then(words.str.strip_chars())


def letters(name: pl.Expr) -> pl.Expr:
    """Keep letters and digits of a name, in lower case."""
    return name.str.to_lowercase().str.replace_all("[^a-z0-9]", "")


def product_facts(products: pl.Series) -> pl.DataFrame:
    """Classify product names (tidied), one row for each distinct name.

    Columns: productName, product_os, product_tenancy, unknown_words, and product_kind, which is vm,
    host, cloud_services, promo or unknown. A name is unknown if it neither begins with "Virtual
    Machines" nor names an operating system; such a product is not guessed at.
    """
    name = pl.col("productName")
    names_os = pl.any_horizontal(name.str.contains(rule) for rule in (WINDOWS, LINUX, RHEL, SLES))
    is_host = name.str.contains(DEDICATED_HOST)
    kind = (
        pl.when(name.str.contains(CLOUD_SERVICES))
        .then(pl.lit("cloud_services"))
        .when(name.str.contains(PROMO))
        .then(pl.lit("promo"))
        .when(is_host)
        .then(pl.lit("host"))
        .when(name.str.contains(VIRTUAL_MACHINES) | names_os)
        .then(pl.lit("vm"))
        .otherwise(pl.lit("unknown"))
    )
    tenancy = pl.when(is_host).then(pl.lit("host")).otherwise(pl.lit("shared"))
    return (
        pl.DataFrame({"productName": products.unique()})
        .drop_nulls()
        .with_columns(
            _operating_system(name).alias("product_os"),
            tenancy.alias("product_tenancy"),
            kind.alias("product_kind"),
            unknown_words(name).alias("unknown_words"),
        )
    )


def _operating_system(name: pl.Expr) -> pl.Expr:
    """Make prices.os of a product name. One that names no system is Linux, without a license."""
    is_rhel, is_sles = name.str.contains(RHEL), name.str.contains(SLES)
    is_sap = name.str.contains(SAP)
    return (
        pl.when(name.str.contains(WINDOWS))
        .then(pl.lit("windows"))
        .when(is_rhel & is_sap)
        .then(pl.lit("rhel_sap"))
        .when(is_rhel & name.str.contains(HIGH_AVAILABILITY))
        .then(pl.lit("rhel_ha"))
        .when(is_rhel)
        .then(pl.lit("rhel"))
        .when(is_sles & is_sap)
        .then(pl.lit("sles_sap"))
        .when(is_sles)
        .then(pl.lit("sles"))
        .when(name.str.contains(UBUNTU_PRO))
        .then(pl.lit("ubuntu_pro"))
        .otherwise(pl.lit("linux"))
    )
