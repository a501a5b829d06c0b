"""Write docs/devices.md: the facts about 40 devices, question by question.

``python -m tools.devices ROOT`` queries the release below ROOT, by default ``data``. ``make docs``
calls it after ``make run``. The page is not in git.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hwprices
from hwprices.read.dataset import Dataset
from hwprices.read.device import device
from tools.generated import PROJECT

TARGET = PROJECT / "docs" / "devices.md"

INTRODUCTION = """# Devices

What `hwprices device` answers about 40 devices, question by question. Written from the bundled
sample by `python -m tools.devices data`; do not edit by hand. Prices are those of the sample, on
its dates, per device (for the last three, per machine). A cell without a figure says why.
Prices of data centers and of community hosts (RunPod's Community Cloud) are separate: the second is
the lowest offer, and its availability is unknown.
"""

DEVICES = {
    "nvidia-h100-sxm5-80gb": "H100 SXM",
    "nvidia-h100-pcie-80gb": "H100 PCIe",
    "nvidia-h100-nvl-94gb": "H100 NVL",
    "nvidia-h200-sxm": "H200",
    "nvidia-a100-sxm4-40gb": "A100 40 GB",
    "nvidia-a100-sxm4-80gb": "A100 80 GB",
    "nvidia-v100-sxm2-16gb": "V100",
    "nvidia-p100": "P100",
    "nvidia-l40s": "L40S",
    "nvidia-l4": "L4",
    "nvidia-t4": "T4",
    "nvidia-a10g": "A10G",
    "nvidia-rtx-6000-ada": "RTX 6000 Ada",
    "nvidia-rtx-4090": "RTX 4090",
    "amd-mi300x": "MI300X",
    "amd-mi250": "MI250",
    "amd-rx-7900-xtx": "RX 7900 XTX",
    "intel-gaudi2": "Gaudi 2",
    "intel-gaudi3": "Gaudi 3",
    "google-tpu-v5e": "TPU v5e",
    "google-tpu-v5p": "TPU v5p",
    "aws-trainium1": "Trainium",
    "aws-trainium2": "Trainium2",
    "aws-inferentia1": "Inferentia",
    "aws-inferentia2": "Inferentia2",
    "cerebras-wse-3": "WSE-3",
    "sambanova-sn40l": "SN40L",
    "groq-lpu-v1": "Groq LPU",
    "etched-sohu": "Etched Sohu",
    "d-matrix-corsair": "Corsair",
    "huawei-ascend-910": "Ascend 910",
    "apple-m3-max": "M3 Max",
    "apple-m4": "M4",
    "nvidia-jetson-agx-orin-64gb": "AGX Orin",
    "nvidia-jetson-agx-thor": "AGX Thor",
    "nvidia-jetson-orin-nano-8gb": "Orin Nano",
    "raspberry-pi-5": "Raspberry Pi 5",
    "nvidia-dgx-a100-640gb": "DGX A100",
    "nvidia-hgx-h100": "HGX H100",
    "compute-blade-cluster-20": "Compute Blade",
}
"""Id of a device → its name on the page."""

TWINS = {
    "nvidia-a100-sxm4-40gb": "nvidia-a100-sxm4-80gb",
    "nvidia-v100-sxm2-16gb": "nvidia-v100-pcie-16gb",
    "nvidia-p100": "nvidia-p100-pcie-12gb",
}
"""Device without measurements of language models → a version of it that has some."""

HOSTED = ("cerebras-wse-3", "sambanova-sn40l", "groq-lpu-v1")
"""Devices whose makers only publish the speed of services, on an unknown number of devices."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """A column: its heading, the cell of a device's answer, and why a cell has no figure."""

    heading: str
    cell: Callable[[Row], str]
    reason: Callable[[Row], str]


def always(reason: str) -> Callable[[Row], str]:
    """Return the same reason for every device."""
    return lambda row: reason


def usd(value: object) -> str:
    """Write an amount with three significant digits, or in whole dollars from 1,000 on."""
    number = float(str(value))
    return f"{number:,.0f}" if number >= 1000 else f"{number:,.3g}"


def formats(row: Row) -> str:
    """List the supported number formats, and the unknown ones with a question mark."""
    unknown = [f"{name}?" for name in row["dtypes_unknown"]]
    return " ".join([*row["dtypes"], *unknown])


def rates(row: Row) -> str:
    """Return the rates of 16 and 8 bits, or else the first published ones."""
    by_format = {
        rate["dtype"]: f"{rate['rate']:,.4g} {rate['dtype']}" for rate in row["dense_rates"]
    }
    preferred = [by_format[name] for name in ("bf16", "fp16", "fp8", "int8") if name in by_format]
    return ", ".join((preferred or list(by_format.values()))[:3])


def measured(row: Row, *, training: bool) -> str:
    """Return a measured language model, or a measured training."""
    results = [m for m in row["measured"] if (m["scenario"] == "training") == training]
    if not training:
        results = [
            m for m in results if m["unit"].startswith("Tokens") and m["scenario"] != "Prompt"
        ]
    preferred = "lora" if training else "llama"
    results.sort(key=lambda m: (preferred not in m["model"], m["scenario"] != "Offline"))
    if not results:
        return ""
    first = results[0]
    alone = f" one user, {first['precision']}" if first["scenario"] == "SingleUser" else ""
    if training:
        return f"{first['result']:,.4g} min on {first['accelerators']:.0f} ({first['model']})"
    return f"{first['per_accelerator']:,.4g} tok/s{alone} ({first['model']})"


def tokens(row: Row) -> str:
    """Return the price of a million tokens of a measured model, with its request lengths."""
    prices = sorted(row["usd_per_million_tokens"], key=lambda price: "llama" not in price["model"])
    if not prices:
        return ""
    first = prices[0]
    if first["input_tokens"] is None or first["output_tokens"] is None:
        return f"{usd(first['usd'])} ({first['model']})"
    lengths = f"{first['input_tokens']:,.0f} in, {first['output_tokens']:,.0f} out"
    return f"{usd(first['usd'])} ({first['model']}, {lengths})"


def not_rented(row: Row) -> str:
    """Explain a missing hourly price in a data center."""
    if not row["providers"]:
        return "no cloud here rents it"
    native = [cloud["currency"] for cloud in row["where_sold"] if cloud["on_demand_per_hour"]]
    others = sorted(set(native) - {"USD"})
    return f"price in {', '.join(others)} alone" if others else "no price in the sample"


def no_tokens(row: Row) -> str:
    """Explain a missing price per token."""
    offline = any(m["scenario"] == "Offline" for m in row["measured"])
    if offline:
        return not_rented(row)
    return "one user measured, no full load" if measured(row, training=False) else "not measured"


def no_emissions(row: Row) -> str:
    """Explain missing hourly emissions."""
    if not row["providers"]:
        return "depends on your grid: --grid" if row["power_w"] else "no power is published"
    return "no power is published" if row["power_w"] is None else "no figure in the sample"


def usd_or(row: Row, column: str) -> str:
    """Write the amount of a column, or nothing."""
    return "" if row[column] is None else usd(row[column])


def purchase(row: Row) -> str:
    """Write the price of buying one, alone or in a machine, with its currency if not USD."""
    if row["purchase_price"] is None:
        share = row["machine_share_usd"]
        return "" if share is None else f"{usd(share)} in a machine"
    currency = row["purchase_currency"]
    return usd(row["purchase_price"]) + ("" if currency == "USD" else f" {currency}")


def not_sold(row: Row) -> str:
    """Explain a missing purchase price."""
    return "rented only" if row["sold_locally"] is False else "no price is known"


def not_measured(row: Row) -> str:
    """Explain a missing measurement, with the result of another version of the device."""
    if row["device_id"] in HOSTED:
        return "published for hosted services only"
    twin = row.get("twin")
    if twin is None:
        return "no published measurement"
    return f"no published measurement; {twin['name']}: {measured(twin, training=False)}"


PARTS = {
    "What it is": [
        Question("architecture", lambda row: row["architecture"] or "", always("not published")),
        Question(
            "clouds", lambda row: ", ".join(row["providers"]), always("none here: to buy or hosted")
        ),
        Question("formats", formats, always("not published")),
        Question("dense TFLOPS or TOPS", rates, always("no rate is published")),
        Question("for AI", lambda row: ", ".join(row["ai_features"]), always("none")),
    ],
    "What it costs": [
        Question("USD/h", lambda row: usd_or(row, "on_demand_usd_per_hour"), not_rented),
        Question(
            "USD/h, community host",
            lambda row: usd_or(row, "private_host_usd_per_hour"),
            always("none here"),
        ),
        Question("USD/year", lambda row: usd_or(row, "usd_per_year"), not_rented),
        Question("USD to buy", purchase, not_sold),
        Question(
            "USD/h owned",
            lambda row: usd_or(row, "tco_usd_per_hour"),
            always("no machine with price and power"),
        ),
    ],
    "What it does": [
        Question(
            "inference",
            lambda row: measured(row, training=False),
            not_measured,
        ),
        Question(
            "training", lambda row: measured(row, training=True), always("no published measurement")
        ),
        Question("USD per million tokens", tokens, no_tokens),
        Question(
            "TFLOPS/W",
            lambda row: f"{row['tflops_per_watt']:.3g}" if row["tflops_per_watt"] else "",
            always("no rate or no TDP"),
        ),
        Question(
            "gCO2e/h",
            lambda row: f"{row['gco2e_per_hour']:,.4g}" if row["gco2e_per_hour"] else "",
            no_emissions,
        ),
    ],
}
"""Part of the page → its questions."""


def table(title: str, questions: list[Question], rows: dict[str, Row]) -> str:
    """Write the table of one part."""
    lines = [
        "| device | " + " | ".join(question.heading for question in questions) + " |",
        "|---" * (len(questions) + 1) + "|",
    ]
    for device_id, name in DEVICES.items():
        row = rows[device_id]
        cells = [question.cell(row) or f"*{question.reason(row)}*" for question in questions]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return f"## {title}\n\n" + "\n".join(lines) + "\n"


def page(dataset: Dataset) -> str:
    """Write the page from a release."""
    names = [*DEVICES, *TWINS.values()]
    rows = {name: device(dataset, name).row(0, named=True) for name in names}
    for device_id, twin in TWINS.items():
        rows[device_id]["twin"] = rows[twin]
    tables = [table(title, questions, rows) for title, questions in PARTS.items()]
    cells = len(DEVICES) * sum(len(questions) for questions in PARTS.values())
    reasons = sum(part.count("| *") for part in tables)
    count = f"Of {cells} cells {cells - reasons} are filled and {reasons} say why they are not.\n"
    return "\n".join([INTRODUCTION, count, *tables])


if __name__ == "__main__":
    release = hwprices.open(sys.argv[1] if len(sys.argv) > 1 else "data")
    TARGET.write_text(page(release), encoding="utf-8")
