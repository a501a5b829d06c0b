"""Describe an accelerator as the speed of a language model depends on it."""

from dataclasses import dataclass
from typing import Any

from hwprices.units import NUMBER_FORMATS

FAMILIES = {
    "Blackwell": "blackwell",
    "Blackwell Ultra": "blackwell",
    "Hopper": "hopper",
    "Ada Lovelace": "ada",
    "Ampere": "ampere",
    "Turing": "turing",
    "Volta": "turing",
    "Pascal": "pascal",
    "Maxwell": "pascal",
    "Kepler": "pascal",
    "CDNA": "cdna",
    "CDNA 2": "cdna",
    "CDNA 3": "cdna",
    "CDNA 4": "cdna",
    "Vega 20": "cdna",
    "RDNA 3": "rdna",
    "RDNA 3.5": "rdna",
    "RDNA 4": "rdna",
    "M1": "apple",
    "M2": "apple",
    "M3": "apple",
    "M4": "apple",
    "Xe-HPG": "arc",
    "Xe2": "arc",
    "Cortex-A72": "arm",
    "Cortex-A76": "arm",
}
"""Architecture: family of devices that run the same kernels. Others are family ``other``."""

SMALL_CHIPS = {"Ampere": "jetson", "Blackwell": "jetson"}
"""The same for a system on a chip, whose memory is not that of a card."""

PCIE_BYTES_PER_SECOND = 25e9
"""One direction of PCIe 4.0 × 16, of which programs reach about 80 %, between cards without a link
of their own: https://pcisig.com/faq"""

SIXTEEN_BITS = ("bf16", "fp16")

COMPUTE_FORMATS = {
    "fp32": ("fp32",),
    "bf16": SIXTEEN_BITS,
    "fp16": ("fp16", "bf16"),
    "fp8": ("fp8", *SIXTEEN_BITS),
    "int8": ("int8", *SIXTEEN_BITS),
    "fp4": ("fp4", *SIXTEEN_BITS),
    "int4": SIXTEEN_BITS,
    **dict.fromkeys(("q8_0", "q4_k_m", "q4_0", "mxfp4"), SIXTEEN_BITS),  # llama.cpp's
}
"""Stored format: formats to compute in, the first that the device supports. Weights of 8 and 4 bits
run on devices with 16-bit arithmetic alone, which decompress them as they are read: vLLM's table of
quantization kernels, https://docs.vllm.ai/en/latest/features/quantization/"""

NARROWER = {"bf16": ("fp16", "fp8", "int8", "fp4"), "fp16": ("bf16", "fp8", "int8", "fp4")}
WIDTH = {"fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "fp4": 4}
"""Bits. Where a maker prints the rate of a narrower format alone, the rate of 16 bits is that rate
in proportion to the bits: FP4 500 and FP16 125 on GB10."""

LEAST_FLOPS_PER_BYTE = {"arc": 216, "blackwell": 117, "cdna": 26, "jetson": 164}
"""Family with matrix units: dense operations in 16 bits for each byte of the memory's bandwidth, of
the device of the sheet that has the fewest. One without any published rate is taken for that: RTX
PRO 4500 Server, MI308X, Flex 170, Jetson Orin NX."""


@dataclass(frozen=True)
class Device:
    """An accelerator. Rates are dense peaks in operations per second."""

    accelerator_id: str
    family: str
    rates: dict[str, float]
    support: dict[str, str]
    """Number format: supported, unsupported or unknown."""
    bytes_per_second: float | None
    link_bytes_per_second: float
    """In one direction, from one device to the others."""

    def compute_format(self, precision: str) -> str | None:
        """Return the format in which weights stored in ``precision`` are computed; None if none."""
        formats = COMPUTE_FORMATS[precision]
        return next((f for f in formats if self.support.get(f) == "supported"), None)

    def rate(self, number_format: str) -> float | None:
        """Return the peak rate in a format, from a narrower one where it is not published."""
        if number_format in self.rates:
            return self.rates[number_format]
        for other in NARROWER.get(number_format, ()):
            if other in self.rates:
                return self.rates[other] * WIDTH[other] / WIDTH[number_format]
        return None


def device(row: dict[str, Any]) -> Device:
    """Make a device from a row of the accelerator sheet."""
    family = _family(row["kind"], row["architecture"])
    support = {f: row[f"{f}_support"] for f in NUMBER_FORMATS if f"{f}_support" in row}
    bandwidth = row["memory_bandwidth_gbs"]
    bytes_per_second = None if bandwidth is None else bandwidth * 1e9
    rates = {f: row[c] * 1e12 for f, c in NUMBER_FORMATS.items() if row.get(c)}
    if not rates and bytes_per_second is not None and family in LEAST_FLOPS_PER_BYTE:
        in_16_bits = LEAST_FLOPS_PER_BYTE[family] * bytes_per_second
        rates = {
            name: in_16_bits * 16 / width
            for name, width in WIDTH.items()
            if width <= 16 and support.get(name) == "supported"
        }
    link = row["interconnect_gbs"]
    return Device(
        accelerator_id=row["accelerator_id"],
        family=family,
        rates=rates,
        support=support,
        bytes_per_second=bytes_per_second,
        link_bytes_per_second=link / 2 * 1e9 if link else PCIE_BYTES_PER_SECOND,
    )


def _family(kind: str, architecture: str | None) -> str:
    if kind == "soc" and architecture in SMALL_CHIPS:
        return SMALL_CHIPS[architecture]
    if kind in ("tpu", "neuron"):
        return kind
    if architecture and architecture.startswith("Gaudi"):
        return "gaudi"
    return FAMILIES.get(architecture or "", "other")
