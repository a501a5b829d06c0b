"""Which operating system, software and licence a price is for.

The price list says it twice: in words (Operating System, Pre Installed S/W, License Model) and as a usage operation code. Both
must tell the same. Codes: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
"""

from typing import NamedTuple

import polars as pl


class Platform(NamedTuple):
    """The three key columns of prices that say what software is paid for."""

    os: str
    software: str = "none"
    license_model: str = "included"


OPERATIONS = {
    "RunInstances": Platform("linux"),
    "RunInstances:0004": Platform("linux", "sql_std"),
    "RunInstances:0200": Platform("linux", "sql_web"),
    "RunInstances:0100": Platform("linux", "sql_ent"),
    "RunInstances:0010": Platform("rhel"),
    "RunInstances:0014": Platform("rhel", "sql_std"),
    "RunInstances:0210": Platform("rhel", "sql_web"),
    "RunInstances:0110": Platform("rhel", "sql_ent"),
    "RunInstances:00g0": Platform("rhel", license_model="byol"),
    "RunInstances:1010": Platform("rhel_ha"),
    "RunInstances:1014": Platform("rhel_ha", "sql_std"),
    "RunInstances:1110": Platform("rhel_ha", "sql_ent"),
    "RunInstances:000g": Platform("sles"),
    "RunInstances:0g00": Platform("ubuntu_pro"),
    "RunInstances:0002": Platform("windows"),
    "RunInstances:0006": Platform("windows", "sql_std"),
    "RunInstances:0202": Platform("windows", "sql_web"),
    "RunInstances:0102": Platform("windows", "sql_ent"),
    "RunInstances:0800": Platform("windows", license_model="byol"),
}

OS_WORDS = {
    "linux": "linux",
    "rhel": "rhel",
    "red hat enterprise linux with ha": "rhel_ha",
    "suse": "sles",
    "ubuntu pro": "ubuntu_pro",
    "windows": "windows",
}

SOFTWARE_WORDS = {
    "": "none",
    "na": "none",
    "sql std": "sql_std",
    "sql web": "sql_web",
    "sql ent": "sql_ent",
}

LICENSE_WORDS = {
    "": "included",
    "na": "included",
    "no license required": "included",
    "license included": "included",
    "bring your own license": "byol",
}

SPOT_PRODUCTS = {
    "Linux/UNIX": "linux",
    "Red Hat Enterprise Linux": "rhel",
    "SUSE Linux": "sles",
    "Windows": "windows",
}
"""ProductDescription of spot prices, without the suffix " (Amazon VPC)" that says the same."""

ADVISOR_SYSTEMS = {"Linux": "linux", "Windows": "windows"}
"""Operating systems of the Spot Instance Advisor."""


def _words(column: str) -> pl.Expr:
    return pl.col(column).fill_null("").str.strip_chars().str.to_lowercase()


def from_words() -> list[pl.Expr]:
    """os, software, license_model from the words; null where a word is not known."""
    return [
        _words("operating_system")
        .replace_strict(OS_WORDS, default=None, return_dtype=pl.String)
        .alias("os"),
        _words("pre_installed")
        .replace_strict(SOFTWARE_WORDS, default=None, return_dtype=pl.String)
        .alias("software"),
        _words("license_words")
        .replace_strict(LICENSE_WORDS, default=None, return_dtype=pl.String)
        .alias("license_model"),
    ]


def from_operation() -> pl.Expr:
    """``os/software/license_model`` that the operation code stands for; null for an unknown code."""
    codes = {code: "/".join(platform) for code, platform in OPERATIONS.items()}
    return pl.col("operation").replace_strict(codes, default=None, return_dtype=pl.String)
