"""List the words of Google's SKU descriptions with what they mean here.

A word that is not listed is not understood. Series are named on
https://cloud.google.com/compute/docs/machine-resource; the words come from the Cloud Billing
Catalog.
"""

from dataclasses import dataclass
from typing import Final

MODES: Final[dict[str, str]] = {
    "Spot Preemptible": "spot",
    "Preemptible": "spot",  # what spot was called before 2022; some SKUs kept it
    "DWS Defined Duration": "dws_defined_duration",
    "DWS Calendar Mode": "dws_calendar",
    "DWS Flex Start": "dws_flex_start",
}
"""Word → purchase option.

DWS is the Dynamic Workload Scheduler, https://cloud.google.com/products/dws/pricing. The Flex-start
mode of A2, A3, A4, G2, G4 and TPUs is billed by the SKUs that say "DWS Defined Duration"
(https://cloud.google.com/skus/sku-groups/flex-start-mode-a3-vms); those of H4D say "DWS Flex
Start".
"""

SERIES: Final[dict[str, str]] = {
    "A2": "a2",
    "A3": "a3",
    "A3Plus": "a3plus",  # A3 Mega
    "A3 Plus": "a3plus",
    "A3 Mega": "a3plus",
    "A3Ultra": "a3ultra",
    "A3 Ultra": "a3ultra",
    "C2D AMD": "c2d",
    "C2D": "c2d",
    "C3": "c3",
    "C3D": "c3d",
    "C4": "c4",
    "C4A Arm": "c4a",
    "C4A": "c4a",
    "C4D": "c4d",
    "C4N": "c4n",
    "Compute optimized": "c2",
    "E2": "e2",
    "G2": "g2",
    "G4": "g4",
    "H3": "h3",
    "H4D": "h4d",
    "H4D Standard": "h4d",
    "M3 Memory-optimized": "m3",
    "M3": "m3",
    "M4": "m4",
    "M4N": "m4n",
    "M4NUltramem224": "m4nultramem224",
    "M4Ultramem224": "m4ultramem224",
    "Memory-optimized": "m1",
    "N1 Predefined": "n1",
    "N2": "n2",
    "N2D AMD": "n2d",
    "N2D": "n2d",
    "N4": "n4",
    "N4A": "n4a",
    "N4A Arm": "n4a",
    "N4D": "n4d",
    "N4D AMD": "n4d",
    "T2A Arm": "t2a",
    "T2A": "t2a",
    "T2D AMD": "t2d",
    "T2D": "t2d",
    "vGPU G4": "g4vgpu",  # G4 with less than one GPU: only its local SSD has SKUs, at 0
    "X4": "x4",
    "Z3": "z3",
}
"""Words → series, as the sheet gcp_series names it."""

GPUS: Final[dict[str, str]] = {
    "Nvidia Tesla K80": "nvidia-tesla-k80",
    "Nvidia Tesla P4": "nvidia-tesla-p4",
    "Nvidia Tesla P100": "nvidia-tesla-p100",
    "Nvidia Tesla V100": "nvidia-tesla-v100",
    "Nvidia Tesla T4": "nvidia-tesla-t4",
    "Nvidia Tesla A100": "nvidia-tesla-a100",
    "Nvidia Tesla A100 80GB": "nvidia-a100-80gb",
    "Nvidia A100 80GB": "nvidia-a100-80gb",  # Vertex AI
    "Nvidia L4": "nvidia-l4",
    "Nvidia H100 80GB": "nvidia-h100-80gb",
    # Three names of one part; which is used differs by region and purchase option.
    "Nvidia H100 80GB Mega": "nvidia-h100-mega-80gb",
    "Nvidia H100 Mega 80GB": "nvidia-h100-mega-80gb",
    "Nvidia H100 80GB Plus": "nvidia-h100-mega-80gb",
    "H200 141GB": "nvidia-h200-141gb",
    "Nvidia H200 141GB": "nvidia-h200-141gb",
    "RTX 6000 96GB": "nvidia-rtx-pro-6000",
}
"""Words → the name the Compute API gives the accelerator (guestAcceleratorType)."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A share of a machine with everything in its price: GPU, cores, memory and disk.

    ``gpu`` is the Compute API's name of the GPU. ``variant`` is eighth for an eighth of one.
    """

    series: str
    gpu: str
    variant: str = ""


SLICES: Final[dict[str, Slice]] = {
    "Nvidia B200 (1 gpu slice)": Slice("a4", "nvidia-b200"),
    "A4 Nvidia B200 (1 gpu slice)": Slice("a4", "nvidia-b200"),
    "A4X Nvidia GB200 (1 gpu slice)": Slice("a4x", "nvidia-gb200"),
    "A4X Max Nvidia GB300 (1 gpu slice)": Slice("a4xmax", "nvidia-gb300"),
    "1/8 vGPU no lssd": Slice("g4", "nvidia-rtx-pro-6000", "eighth"),
}
"""Words → the slice of a GPU machine that they name."""

INSTANCES: Final[dict[str, str]] = {
    "Micro Instance with burstable CPU": "f1",
    "Small Instance with 1 VCPU": "g1",
}
"""Words → series of machines that have one SKU for the whole machine."""

CONTINENTS: Final = frozenset(
    ["APAC", "Americas", "Asia", "Asia Pacific", "EMEA", "EU", "Europe", "North America", "USA"]
)
"""Places that are larger than a country or are sold as one area of several regions."""

OPEN_BAND_FROM: Final = 100
"""A vCPU band whose number stands alone is one size (4), except from here on: "128 VCPU or
more"."""

OPEN_BAND_TO: Final = 100_000  # Upper end of an open vCPU band: above every machine
