"""What Azure's names say: products and meters of the price list, and sizes.

Sources: https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices for the items, and
https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions for the sizes. The price list writes the operating
system only into the product's name, and not always in the same way.
"""

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

ODD_SPACES = "[\u00a0\u2007\u202f\\s]+"  # no-break spaces stand in some product names

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
PLAIN_VM = r"(?i)^virtual machines\b"
SAYS_LINUX = r"(?i) linux$"  # products from 2023 on say "…-series Linux" instead of nothing


PHYSICAL = (
    "Physical"  # Logical locations ("global", "unitedstates", "asiapacific") hold no machines
)
NOT_PUBLIC = (
    "Stage",
    "Canary",
)  # geographies "Stage (US)", "Canary (US)": Azure's own test regions


def is_public_location(location: dict[str, Any]) -> bool:
    """Whether a location of the subscription's list is a region that machines are sold in."""
    metadata = location.get("metadata") or {}
    return metadata.get("regionType") == PHYSICAL and not str(metadata.get("geography")).startswith(
        NOT_PUBLIC
    )


def tidy(column: str) -> pl.Expr:
    """A name with plain single spaces and none at its ends."""
    return pl.col(column).str.replace_all(ODD_SPACES, " ").str.strip_chars()


def product_facts(products: pl.Series) -> pl.DataFrame:
    """What product names say: productName, product_os, product_tenancy, product_is (vm, host, cloud_services, promo, unknown).

    One row a distinct name. ``unknown`` is a name that says neither what it is nor, on a price with an operating system,
    which: such a row is not guessed at. Names must have been tidied.
    """
    name = pl.col("productName")
    says_os = (
        name.str.contains(WINDOWS)
        | name.str.contains(SAYS_LINUX)
        | name.str.contains(RHEL)
        | name.str.contains(SLES)
    )
    return (
        pl.DataFrame({"productName": products.unique()})
        .drop_nulls()
        .with_columns(
            _operating_system(name).alias("product_os"),
            pl.when(name.str.contains(DEDICATED_HOST))
            .then(pl.lit("host"))
            .otherwise(pl.lit("shared"))
            .alias("product_tenancy"),
            pl.when(name.str.contains(CLOUD_SERVICES))
            .then(pl.lit("cloud_services"))
            .when(name.str.contains(PROMO))
            .then(pl.lit("promo"))
            .when(name.str.contains(DEDICATED_HOST))
            .then(pl.lit("host"))
            .when(name.str.contains(PLAIN_VM) | says_os)
            .then(pl.lit("vm"))
            .otherwise(pl.lit("unknown"))
            .alias("product_is"),
        )
    )


def _operating_system(name: pl.Expr) -> pl.Expr:
    """prices.os of a product name; what names none is Linux, the price without a licence."""
    return (
        pl.when(name.str.contains(WINDOWS))
        .then(pl.lit("windows"))
        .when(name.str.contains(RHEL) & name.str.contains(SAP))
        .then(pl.lit("rhel_sap"))
        .when(name.str.contains(RHEL) & name.str.contains(HIGH_AVAILABILITY))
        .then(pl.lit("rhel_ha"))
        .when(name.str.contains(RHEL))
        .then(pl.lit("rhel"))
        .when(name.str.contains(SLES) & name.str.contains(SAP))
        .then(pl.lit("sles_sap"))
        .when(name.str.contains(SLES))
        .then(pl.lit("sles"))
        .when(name.str.contains(UBUNTU_PRO))
        .then(pl.lit("ubuntu_pro"))
        .otherwise(pl.lit("linux"))
    )


SIZE = re.compile(
    r"^(?P<tier>Standard|Basic)_(?P<family>[A-Z]+)(?P<vcpus>\d+)(?:-(?P<constrained>\d+))?(?P<features>[a-z]*)"
    r"(?P<middle>(?:_[A-Za-z0-9]+?)*?)(?:_v(?P<version>\d+))?(?P<promo>_Promo)?$"
)
"""tier_family+vCPUs-constrained+features_accelerator or memory_version: Standard_E8-4s_v5, Standard_NC24ads_A100_v4."""

NOT_SERIES = re.compile(r"^\d+$")  # Standard_M416s_6_v3: the 6 is terabytes of memory, not a series


@dataclass(frozen=True)
class Size:
    """A size's name taken apart. ``vcpus`` is what the name says, which for old sizes is not the number of vCPUs."""

    tier: str
    family: str
    vcpus: int
    constrained: int | None
    features: str
    middle: tuple[str, ...]
    version: int | None
    promo: bool

    @property
    def series(self) -> str:
        """Family, features, accelerator and version: DSv5 sizes are in series Dsv5, Standard_NC24ads_A100_v4 in NCads_A100_v4."""
        parts = [self.family + self.features, *(p for p in self.middle if not NOT_SERIES.match(p))]
        if self.version is not None:
            parts = (
                [*parts, f"v{self.version}"] if len(parts) > 1 else [f"{parts[0]}v{self.version}"]
            )
        return "_".join(parts)

    @property
    def generation(self) -> str | None:
        return f"v{self.version}" if self.version is not None else None

    @property
    def cpu_vendor(self) -> str | None:
        """Maker of the CPU where the naming rules or the family tell: ``a`` is AMD, ``p`` is Arm (Ampere to v5, Microsoft's
        Cobalt from v6, NVIDIA Grace with GB200 and GB300), D, E, F, L, M and G sizes without them are Intel, HB and HX AMD, HC
        Intel. Others (A, B before v2, N) have had several makers: null."""
        if any(part.startswith("GB") for part in self.middle):
            return "nvidia"
        if "p" in self.features and self.family in ("B", "D", "E"):
            return "microsoft" if (self.version or 0) >= 6 else "ampere"
        if "a" in self.features or self.family in ("HB", "HX"):
            return "amd"
        intel = {"D", "DS", "DC", "E", "EC", "F", "FX", "L", "M", "G", "GS", "HC"}
        return (
            "intel" if self.family in intel or (self.family == "B" and self.version == 2) else None
        )


def parse_size(name: str) -> Size | None:
    """A size's name taken apart, or None where it does not follow the rules."""
    match = SIZE.match(name)
    if not match:
        return None
    return Size(
        tier=match["tier"],
        family=match["family"],
        vcpus=int(match["vcpus"]),
        constrained=int(match["constrained"]) if match["constrained"] else None,
        features=match["features"],
        middle=tuple(part for part in match["middle"].split("_") if part),
        version=int(match["version"]) if match["version"] else None,
        promo=match["promo"] is not None,
    )
