"""Return the operating system, software and license that a price is for.

The price list states it twice: in words (Operating System, Pre Installed S/W, License Model) and as
a usage operation code. Both must agree.
Codes: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Platform:
    """The three key columns of prices that say what software is paid for."""

    os: str
    software: str = "none"
    license_model: str = "included"

    def __str__(self) -> str:
        return f"{self.os}/{self.software}/{self.license_model}"


INFRASTRUCTURE = "infrastructure"
"""License of a machine whose Windows is billed apart, by the vCPU. Its price is a part of a price:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-optimize-cpu.html"""

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
    "RunInstances:0002:box": Platform("windows", license_model=INFRASTRUCTURE),
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
    "license included - infrastructure": INFRASTRUCTURE,
}

SPOT_PRODUCTS = {
    "Linux/UNIX": "linux",
    "Red Hat Enterprise Linux": "rhel",
    "SUSE Linux": "sles",
    "Windows": "windows",
}
"""ProductDescription of spot quotes, without the suffix " (Amazon VPC)" that names the network."""


def from_words() -> list[pl.Expr]:
    """Make os, software and license_model from the words; null where a word is unknown."""
    return [
        _translated("operating_system", OS_WORDS).alias("os"),
        _translated("pre_installed", SOFTWARE_WORDS).alias("software"),
        _translated("license_words", LICENSE_WORDS).alias("license_model"),
    ]


def from_operation() -> pl.Expr:
    """Translate the operation code to ``os/software/license_model``; null for an unknown code."""
    codes = {code: str(platform) for code, platform in OPERATIONS.items()}
    return pl.col("operation").replace_strict(codes, default=None, return_dtype=pl.String)


def _translated(column: str, words: Mapping[str, str]) -> pl.Expr:
    text = pl.col(column).fill_null("").str.strip_chars().str.to_lowercase()
    return text.replace_strict(words, default=None, return_dtype=pl.String)
