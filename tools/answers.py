"""Write docs/answers.md: questions that people ask, with the commands and how answers begin.

``python -m tools.answers ROOT`` queries the release below ROOT, by default ``data``. ``make docs``
calls it after ``make run``. The page is not in git.
"""

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner, Result

from hwprices.units import HOURS_PER_YEAR
from tools.generated import PROJECT

TARGET = PROJECT / "docs" / "answers.md"

INTRODUCTION = """# Answers

Written from the bundled sample by `python -m tools.answers data`; do not edit by hand. Prices are
those of the sample, and of its days. Of each answer the first lines are shown.
"""

WIDTH = 160

NARROW = 80
"""Columns of the terminal in which all but those of WIDE are shown."""

WIDE = {"device", "tco"}
KEPT = {"recommend": 14, "device": 0, "tco": 5}
KEPT |= {"find": 6, "price": 12, "compare": 14, "history": 8, "diff": 6, "explain": 8}
"""Lines of an answer that are shown; of a device those that begin with the question's words."""

Answers = Callable[[str], Any]
"""Runs a command and gives its answer as JSON values."""

Why = str | Callable[[Answers], str]
"""Why an answer is right. A text with figures of the release is made from its answers."""


@dataclass(frozen=True)
class Question:
    """A question, the command that answers it, and why the answer is right."""

    question: str
    command: tuple[str, ...]
    why: Why
    lines: tuple[str, ...] = ()
    """Of a device: the lines that answer, by their first words or those after the heading."""


def ask(question: str, command: str, why: Why, *lines: str) -> Question:
    """Make a question; a part of the command in quotes is one argument."""
    return Question(question, tuple(shlex.split(command)), why, lines)


def device_of(answers: Answers, name: str) -> dict[str, Any]:
    """Return the answer of ``hwprices device``."""
    rows: list[dict[str, Any]] = answers(f"device {shlex.quote(name)}")
    return rows[0]


def year_of_l4(answers: Answers) -> str:
    """Compare the cheapest year with a year on demand."""
    row = device_of(answers, "L4")
    year, on_demand = float(row["usd_per_year"]), float(row["on_demand_usd_per_hour"])
    return (
        f"The cheapest way is {row['usd_per_year_basis']}, at {year / HOURS_PER_YEAR:.4f} USD/h;"
        f" a year at the cheapest on-demand price, {on_demand:.4f} USD/h, would be"
        f" {on_demand * HOURS_PER_YEAR:,.0f} USD."
    )


def efficiency_of_dgx(answers: Answers) -> str:
    """Divide the rate of its GPUs by the watts of the machine."""
    row = device_of(answers, "DGX H100")
    (rate,) = [rate["rate"] for rate in row["dense_rates"] if rate["dtype"] == "bf16"]
    watts = row["power_w"]
    return (
        f"Eight GPUs over the {watts:,.0f} W of the whole machine: {rate:,.0f} / {watts:,.0f}"
        " TFLOPS/W."
    )


def prices_of_4090(answers: Answers) -> str:
    """Compare the price of the card with that of the machine."""
    row = device_of(answers, "RTX 4090")
    launch, share = float(row["launch_price_usd"]), float(row["machine_share_usd"])
    return f"The card was {launch:,.0f} USD at launch; {share:,.0f} is a whole PC with one."


def image_on_l4(answers: Answers) -> str:
    """Return the measured rate and the price behind that of an image."""
    row = device_of(answers, "L4")
    (rate,) = [
        one["per_accelerator"]
        for one in row["measured"]
        if (one["model"], one["scenario"]) == ("stable-diffusion-xl", "Offline")
    ]
    price = float(row["on_demand_usd_per_hour"])
    return f"{rate:.4f} images a second at {price:.4f} USD/h."


def cost_of_lora(answers: Answers) -> str:
    """Return the range of what the shown machines cost."""
    costs = [
        float(row["usd"]) for row in answers("recommend 7B --workload lora --top 3 --where cloud")
    ]
    return (
        f"One GPU for some hours and {min(costs):.2f} to {max(costs):.2f} USD; machines to buy are"
        " listed apart, the cheapest first."
    )


def of_cpu_and_gpu(answers: Answers, command: str, figure: str) -> tuple[float, float]:
    """Return a figure of the first machine without accelerators, and of the first with one."""
    cpu, gpu = (
        float(answers(f"{command} --machines {kind}")[0][figure])
        for kind in ("cpus", "accelerators")
    )
    return cpu, gpu


SLOW = "--min-tokens-per-second 5 --max-seconds-to-first-token 60"
"""What machines without accelerators reach."""


def price_on_cpus(answers: Answers) -> str:
    """Compare the cheapest CPU with the cheapest accelerator, both filled."""
    model = f"recommend llama-3.1-8b --where cloud {SLOW} --top 1"
    cpu, gpu = of_cpu_and_gpu(answers, model, "usd_per_million_tokens")
    return (
        f"{cpu:.2f} USD per million tokens on the cheapest, from runs of vLLM and llama.cpp on"
        f" these CPUs: {cpu / gpu:.0f} times the {gpu:.4f} USD of a full GPU."
    )


def small_model_on_cpus(answers: Answers) -> str:
    """Compare the hourly price of the cheapest CPU with that of the cheapest accelerator."""
    model = (
        "recommend llama-3.2-3b --where cloud --users 1 --min-tokens-per-second 5"
        " --objective hourly --top 1"
    )
    cpu, gpu = of_cpu_and_gpu(answers, model, "usd_per_hour")
    return (
        f"No: 3 GB of weights in 8 bits run on a few vCPUs of today, for {cpu:.4f} USD/h; the"
        f" cheapest GPU is {gpu:.4f}."
    )


QUESTIONS = [
    ask(
        "What does an H100 cost, by the hour and by the year?",
        'device "H100 SXM"',
        "The cheapest on-demand price of one GPU in a data center and at a community host,"
        " and the cheapest price per hour for a year, commitments included.",
        "USD/h ",
        "USD/year",
        "prices of",
    ),
    ask(
        "And an L4 for a year?",
        "device L4",
        year_of_l4,
        "USD/h ",
        "USD/year",
    ),
    ask(
        "What is P4?",
        "device P4",
        "A Tesla card of 2016 and a family of AWS with A100: both are offered.",
    ),
    ask(
        "And P5?",
        "device P5",
        "AWS's family P5 has H100; no device has that name.",
        "type",
        "memory",
    ),
    ask(
        "How efficient is a DGX H100, and what does a token cost its owner?",
        'device "DGX H100"',
        efficiency_of_dgx,
        "memory",
        "TFLOPS/W",
        "USD/M tokens",
    ),
    ask(
        "What does an RTX 4090 cost to buy?",
        'device "RTX 4090"',
        prices_of_4090,
        "at launch",
        "in a machine",
    ),
    ask(
        "How fast is a MacBook with M3 Max for one user?",
        "device M3-Max",
        "Measured with llama.cpp; Apple publishes no rate.",
        "llama3-70b SingleUser",
        "llama3-8b SingleUser",
    ),
    ask(
        "What does an image of SDXL cost on an L4?",
        "device L4",
        image_on_l4,
        "USD/1000",
    ),
    ask(
        "Where is Graviton4 sold?",
        "device Graviton4",
        "On AWS alone: other clouds' Neoverse V2 is another CPU.",
        "regions",
    ),
    ask(
        "Which machine for LoRA of a 7B model?",
        "recommend 7B --workload lora --top 3",
        cost_of_lora,
    ),
    ask(
        "And with 5 USD?",
        "recommend 7B --workload lora --budget 5 --option any --where cloud --top 3",
        "Spot prices and commitments where on-demand prices come to more; nothing to buy.",
    ),
    ask(
        "LoRA of 70B?",
        "recommend llama-3.1-70b --workload lora --where cloud --top 3",
        "141 GB of weights fit one GPU of 192 GB with the adapters and activations.",
    ),
    ask(
        "Full fine-tuning of 8B with 128k tokens?",
        "recommend llama-3.1-8b --workload full_finetune --context 131072 --where cloud --top 3",
        "Attention is two thirds of the operations at that length: three times the hours of 4,096.",
    ),
    ask(
        "What serves Llama 2 70B for the least per token?",
        "recommend llama-2-70b aws --where cloud --top 6",
        "Ranked by the upper end of the range; of each accelerator the size with the lowest price.",
    ),
    ask(
        "The same in any cloud?",
        "recommend llama-2-70b --where cloud --top 3",
        "The same speeds at a lower price of an hour.",
    ),
    ask(
        "Llama 3.1 8B with at least 50 tokens/s for every user?",
        "recommend llama-3.1-8b --min-tokens-per-second 50 --where cloud --top 3",
        "The batch is as large as keeps 50 tokens/s for each, and the price of a token rises with"
        " it.",
    ),
    ask(
        "Llama 3.1 8B on a machine at home?",
        "recommend llama-3.1-8b --where local --precision int4 --users 1 --top 3",
        "4-bit weights of 4.5 GB; what counts is the memory bandwidth, and the price to buy.",
    ),
    ask(
        "How fast can Llama 3.1 70B be for one user?",
        "recommend llama-3.1-70b --objective speed --where cloud --top 3",
        "No rack: layers are divided over 64 devices at most, and each division waits for its"
        " links twice a layer.",
    ),
    ask(
        "Which machine emits the least for it?",
        "recommend llama-3.1-70b --objective carbon --where cloud --top 3",
        "By grams per million tokens, not per hour.",
    ),
    ask(
        "Llama 3.1 70B with 128k tokens for four users?",
        "recommend llama-3.1-70b --context 131072 --users 4 --max-seconds-to-first-token 60"
        " --where cloud --top 3",
        "Reading the prompt takes seconds: no machine has the first token within the usual 2 s.",
    ),
    ask(
        "Llama 3.1 405B?",
        "recommend llama-3.1-405b --where cloud --top 3",
        "Eight GPUs hold 406 GB of weights in 8 bits; fewer users fit beside them than of 70B.",
    ),
    ask(
        "In 16 bits, over two machines if need be?",
        "recommend llama-3.1-405b aws --precision bf16 --max-nodes 2 --where cloud --top 3",
        "812 GB fit eight H200; eight H100 need a second machine, no faster for one user.",
    ),
    ask(
        "DeepSeek-R1?",
        "recommend deepseek-r1 --where cloud --top 3",
        "A filled machine reads nearly all experts in every step, and serves hundreds of users from"
        " it.",
    ),
    ask(
        "DeepSeek-R1 for one user?",
        "recommend deepseek-r1 --users 1 --where cloud --top 3",
        "One user reads 37 of 671 billion parameters a token, and pays for the whole machine.",
    ),
    ask(
        "A model of 671B?",
        "recommend 671B --where cloud --top 3",
        "A dense one is meant by that, and the answer says what to ask for DeepSeek.",
    ),
    ask(
        "gpt-oss-120b at home?",
        "recommend gpt-oss-120b --users 1 --where local --precision int4 --top 3",
        "63 GB of 4-bit weights, 5 of 117 billion parameters a token: fast on a slow memory.",
    ),
    ask(
        "Llama 2 7B with 128k tokens?",
        "recommend llama-2-7b --context 131072",
        "It was trained for 4,096 tokens.",
    ),
    ask(
        "An embedding model?",
        "recommend bge-m3",
        "It only reads, modeled as the reading of prompts: tokens are of input.",
    ),
    ask(
        "10 requests a second of 2,000 tokens in and 300 out, in the US?",
        "recommend llama-3.3-70b --requests-per-second 10 --input 2000 --output 300 --where"
        " cloud us --top 3",
        "3,000 tokens/s are required: as many machines as reach them are counted, and their price"
        " is divided by these tokens, not by those that they could do.",
    ),
    ask(
        "Qwen3 32B for 2,000 USD a month?",
        "recommend qwen3-32b --budget 2000/month --where cloud --top 3",
        "730 hours of a machine at 2.74 USD at most.",
    ),
    ask(
        "Pre-training 70B on 2 T tokens in 60 days?",
        "recommend llama-3.1-70b --workload pretrain --tokens 2e12 --days 60 --where cloud --top 3",
        "8.8e23 operations at 40 % of the peak on machines with an RDMA network; 41 % is what was"
        " measured on H100.",
    ),
    ask(
        "Pre-training 405B as Meta did?",
        "recommend llama-3.1-405b --workload pretrain --tokens 15.6e12 --days 54"
        " --max-nodes 4096 --where cloud --top 3",
        "Meta used 2,048 machines of eight H100.",
    ),
    ask(
        "What does Llama 3.1 8B cost on CPUs?",
        f"recommend llama-3.1-8b --machines cpus {SLOW} --top 3",
        price_on_cpus,
    ),
    ask(
        "And for one user: is a small GPU cheaper?",
        "recommend llama-3.1-8b --machines all --where cloud --users 1"
        " --min-tokens-per-second 5 --objective hourly --top 3",
        "Yes, by the hour too: a CPU with 5 tokens/s costs more, because the prompt takes it half"
        " a minute.",
    ),
    ask(
        "And a model of 3B?",
        "recommend llama-3.2-3b --machines all --where cloud --users 1"
        " --min-tokens-per-second 5 --objective hourly --top 3",
        small_model_on_cpus,
    ),
    ask(
        "Images of SDXL?",
        "recommend sdxl --where cloud --top 3",
        "Measured images a second, at the price of an hour.",
    ),
    ask(
        "Images of FLUX.1?",
        "recommend flux --where cloud --top 3",
        "MLPerf has it in training alone; two programs publish what three accelerators do.",
    ),
    ask(
        "Speech to text with Whisper?",
        "recommend whisper --where cloud --top 3",
        "MLPerf's samples of up to 30 s: 1,000 of them are 6.6 hours of speech, so that an hour"
        " costs less than a cent.",
    ),
    ask(
        "When does owning pay?",
        "tco",
        "Against the cheapest on-demand price of the same accelerator in a data center.",
    ),
    ask(
        "The cheapest A100 with 80 GB on spot in Europe?",
        'find "cheapest A100 80GB spot in europe"',
        "GPUs, price per GPU and cloud stay in view; the price of a machine says little alone.",
    ),
    ask("G2 or G6?", 'find "g2 vs g6"', "Families of two clouds, every size, the cheapest first."),
    ask(
        "What does P5 cost with three years paid at once?",
        'find "p5 3 years all upfront"',
        "The sample has P5 on demand only, which the answer says.",
    ),
    ask(
        "8 × H200 in the US for less than 30 USD an hour?",
        'find "8xh200 us under 30$/h"',
        "None; what there is without the place, and without the limit.",
    ),
    ask(
        "A GPU with 24 GB?",
        'find "gpu 24gb"',
        "The memory that the machine has: a sixth of a card of 24 GB is none.",
    ),
    ask("Eight H100s, as people write it?", 'find "H100x8 europe"', "The same as 8xH100."),
    ask(
        "An H100 for less than 3 USD?",
        'find "h100 below 3 usd"',
        "Prices in other currencies are counted, not converted silently.",
    ),
    ask(
        "Machines without a GPU and 16 vCPUs, per month?",
        'find "cpu only 16vcpu" --per month',
        "A month is 730 hours.",
    ),
    ask(
        "The H100s of the US?",
        'find "h100 usa"',
        "Offers whose vendor states no place are counted below.",
    ),
    ask(
        "H100 by price per GPU?",
        "find h100 --sort price_per_accelerator",
        "The column it is sorted by is always there.",
    ),
    ask(
        "A D4s_v5 with Windows, where one brings the license?",
        'find "d4s_v5 windows byol"',
        "The price without the license, which is that of Linux.",
    ),
    ask(
        "Windows with SQL Server Web on a large machine?",
        'find "sql_web windows 64vcpu"',
        "The price contains both licenses.",
    ),
    ask(
        "M5 on shared and dedicated hardware?",
        'find "m5.xlarge any tenancy"',
        "Every tenancy that the release has, here shared hardware alone.",
    ),
    ask(
        "Which H100 is in stock?",
        "find h100 --in-stock",
        "Few vendors state their stock, and the answer names them.",
    ),
    ask(
        "Spot for c7g?",
        'find "c7g.large spot"',
        "There is none in the sample; the ways that there are.",
    ),
    ask(
        "What does D4s_v5 cost by month and year?",
        "price d4s_v5",
        "Linux on shared hardware, unless another system is requested.",
    ),
    ask(
        "What does an A3 with eight H100s cost under each commitment?",
        "price a3-highgpu-8g",
        "Groups by term; the saving is against on demand in the same region.",
    ),
    ask(
        "Three clouds' eight H100s side by side?",
        "compare p5.48xlarge a3-highgpu-8g Standard_ND96isr_H100_v5",
        "What does not fit goes on in a second block; ≠ marks what differs.",
    ),
    ask(
        "H100 or MI300X for Llama 3.3 70B?",
        "compare h100 mi300x --model llama-3.3-70b",
        "Of each the machine with the lowest price for a token; the lines below name it.",
    ),
    ask(
        "What did P5 cost last year?",
        'history "p5.48xlarge us-east"',
        "From the day on which the price was first seen, with its currency.",
    ),
    ask(
        "Which GPU is h100?",
        "device h100",
        "A name of several devices lists them.",
        "H100 NVL",
        "H100 PCIe",
        "H100 SXM5",
    ),
    ask(
        "What makes up the price of an A3?",
        "explain a3-highgpu-8g --region us-central1 --os linux --option on_demand",
        "The sum and its parts; below them the lines of Google's catalog, by SKU.",
    ),
]


def section(question: Question, root: str) -> str:
    """Ask a question, and write its section.

    Raises:
        RuntimeError: the command failed with anything but an error in one line, or its answer lacks
            a line that the question asks for.
    """
    result = _run([*question.command, "--root", root])
    output = result.stdout if result.exit_code == 0 else result.stderr
    shown = "\n".join(line.rstrip() for line in _shown(question, output.splitlines()))
    words = " ".join(f'"{word}"' if " " in word else word for word in question.command)
    why = question.why
    if not isinstance(why, str):
        why = why(lambda command: _json(command, root))
    return f"## {question.question}\n\n```console\n$ hwprices {words}\n{shown}\n```\n\n{why}\n"


def _run(arguments: list[str]) -> Result:
    from hwprices.cli import app, tables

    width = NARROW if arguments[0] in KEPT.keys() - WIDE else WIDTH
    with patch.object(tables, "PIPE_WIDTH", width):
        result = CliRunner(env={"COLUMNS": str(WIDTH)}).invoke(app, arguments)
    if result.exit_code not in (0, 2):
        raise RuntimeError(f"{arguments}: {result.exception!r}")
    return result


def _json(command: str, root: str) -> Any:
    result = _run([*shlex.split(command), "--json", "--root", root])
    if result.exit_code:
        raise RuntimeError(f"{command}: {result.stderr}")
    return json.loads(result.stdout)


def _shown(question: Question, lines: list[str]) -> list[str]:
    """Choose the lines of an answer that are shown.

    Raises:
        RuntimeError: there is none, or none with some of the question's words.
    """
    if not question.lines:
        shown = [line for line in lines if line.strip()][: KEPT[question.command[0]] or 3]
    else:
        shown = [line for line in lines if any(_has(line, words) for words in question.lines)]
        for words in question.lines:
            if not any(_has(line, words) for line in shown):
                raise RuntimeError(f"{question.question}: no line of the answer begins {words!r}")
    if not shown:
        raise RuntimeError(f"{question.question}: the answer has no line")
    return shown


def _has(line: str, words: str) -> bool:
    """Check whether a line begins with words, or continues an answer with them."""
    return f"{line} ".startswith(words) or line.strip().startswith(words)


def page(root: str) -> str:
    """Write the page from the release below a root."""
    sections = [section(question, root) for question in QUESTIONS]
    return "\n".join([INTRODUCTION, *sections])


if __name__ == "__main__":
    TARGET.write_text(page(sys.argv[1] if len(sys.argv) > 1 else "data"), encoding="utf-8")
