"""Describe an accelerator as the speed of a language model depends on it."""

from dataclasses import dataclass
from typing import Any

from hwprices.units import NUMBER_FORMATS

FAMILIES = {
    architecture: family
    for family, architectures in {
        "blackwell": ["Blackwell", "Blackwell Ultra"],
        "hopper": ["Hopper"],
        "ada": ["Ada Lovelace"],
        "ampere": ["Ampere"],
        "turing": ["Turing", "Volta"],
        "pascal": ["Pascal", "Maxwell", "Kepler"],
        "cdna": ["CDNA", "CDNA 2", "CDNA 3", "CDNA 4", "Vega 20"],
        "rdna": ["RDNA 3", "RDNA 3.5", "RDNA 4"],
        "apple": ["M1", "M2", "M3", "M4"],
        "arc": ["Xe-HPG", "Xe2"],
        "arm": ["Cortex-A72", "Cortex-A76"],
        "gaudi": ["Gaudi", "Gaudi 2", "Gaudi 3"],
    }.items()
    for architecture in architectures
}
"""Architecture: family of devices that run the same kernels. Others are family ``other``."""

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
        supported = (f for f in COMPUTE_FORMATS[precision] if self.support.get(f) == "supported")
        return next(supported, None)

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
    kind, architecture = row["kind"], row["architecture"] or ""
    family = kind if kind in ("tpu", "neuron") else FAMILIES.get(architecture, "other")
    if kind == "soc" and family in ("ampere", "blackwell"):
        family = "jetson"  # its memory is not that of a card
    support = {f: row[f"{f}_support"] for f in NUMBER_FORMATS if f"{f}_support" in row}
    bandwidth = row["memory_bandwidth_gbs"]
    rates = {f: row[c] * 1e12 for f, c in NUMBER_FORMATS.items() if row.get(c)}
    if not rates and bandwidth is not None and family in LEAST_FLOPS_PER_BYTE:
        in_16_bits = LEAST_FLOPS_PER_BYTE[family] * bandwidth * 1e9
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
        bytes_per_second=None if bandwidth is None else bandwidth * 1e9,
        link_bytes_per_second=link / 2 * 1e9 if link else PCIE_BYTES_PER_SECOND,
    )
