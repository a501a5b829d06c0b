"""Write docs/answers.md: common questions, the commands that answer them, and their output.

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
those of the sample, on its dates. Only the first lines of each answer are shown.
"""

WIDTH = 160

NARROW = 80
"""Width of the terminal for all commands but those of WIDE."""

WIDE = {"device", "tco"}
SHOWN_LINES = {"recommend": 14, "device": 0, "tco": 5}
SHOWN_LINES |= {"find": 6, "price": 12, "compare": 14, "history": 8, "diff": 6, "explain": 8}
"""Command → lines of its answer that are shown; for a device, those that the question names."""

Answers = Callable[[str], Any]
"""Runs a command and returns its answer as JSON values."""

Why = str | Callable[[Answers], str]
"""Why an answer is right: a text, or a function that fills in figures of the release."""


@dataclass(frozen=True)
class Question:
    """A question, the command that answers it, and why the answer is right."""

    question: str
    command: tuple[str, ...]
    why: Why
    lines: tuple[str, ...] = ()
    """For a device: the first words of the lines to show, or the words after the heading."""


def ask(question: str, command: str, why: Why, *lines: str) -> Question:
    """Make a question; a part of the command in quotes is one argument."""
    return Question(question, tuple(shlex.split(command)), why, lines)


def device_answer(answers: Answers, name: str) -> dict[str, Any]:
    """Return the answer of ``hwprices device``."""
    rows: list[dict[str, Any]] = answers(f"device {shlex.quote(name)}")
    return rows[0]


def l4_for_a_year(answers: Answers) -> str:
    """Compare the cheapest year with a year on demand."""
    row = device_answer(answers, "L4")
    year, on_demand = float(row["usd_per_year"]), float(row["on_demand_usd_per_hour"])
    return (
        f"The cheapest way is {row['usd_per_year_basis']}, at {year / HOURS_PER_YEAR:.4f} USD/h;"
        f" a year at the cheapest on-demand price, {on_demand:.4f} USD/h, would be"
        f" {on_demand * HOURS_PER_YEAR:,.0f} USD."
    )


def dgx_efficiency(answers: Answers) -> str:
    """Divide the rate of the GPUs by the watts of the machine."""
    row = device_answer(answers, "DGX H100")
    (rate,) = [rate["rate"] for rate in row["dense_rates"] if rate["dtype"] == "bf16"]
    watts = row["power_w"]
    return (
        f"Eight GPUs over the {watts:,.0f} W of the complete machine: {rate:,.0f} / {watts:,.0f}"
        " TFLOPS/W."
    )


def rtx_4090_prices(answers: Answers) -> str:
    """Compare the price of the card with that of the machine."""
    row = device_answer(answers, "RTX 4090")
    launch, share = float(row["launch_price_usd"]), float(row["machine_share_usd"])
    return f"The card cost {launch:,.0f} USD at launch; a complete PC with one costs {share:,.0f}."


def image_on_l4(answers: Answers) -> str:
    """Return the measured rate and the hourly price that the price of an image comes from."""
    row = device_answer(answers, "L4")
    (rate,) = [
        result["per_accelerator"]
        for result in row["measured"]
        if (result["model"], result["scenario"]) == ("stable-diffusion-xl", "Offline")
    ]
    price = float(row["on_demand_usd_per_hour"])
    return f"{rate:.4f} images per second at {price:.4f} USD/h."


def lora_cost(answers: Answers) -> str:
    """Return the range of the shown costs."""
    costs = [
        float(row["usd"]) for row in answers("recommend 7B --workload lora --top 3 --where cloud")
    ]
    return (
        f"One GPU for a few hours, {min(costs):.2f} to {max(costs):.2f} USD; machines to buy are"
        " listed separately, the cheapest first."
    )


def cpu_and_gpu(answers: Answers, command: str, figure: str) -> tuple[float, float]:
    """Return a figure of the first machine without accelerators, and of the first with one."""
    cpu, gpu = (
        float(answers(f"{command} --machines {kind}")[0][figure])
        for kind in ("cpus", "accelerators")
    )
    return cpu, gpu


SLOW = "--min-tokens-per-second 5 --max-seconds-to-first-token 60"
"""Limits that machines without accelerators meet."""


def price_on_cpus(answers: Answers) -> str:
    """Compare the cheapest CPU with the cheapest accelerator, both filled."""
    model = f"recommend llama-3.1-8b --where cloud {SLOW} --top 1"
    cpu, gpu = cpu_and_gpu(answers, model, "usd_per_million_tokens")
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
    cpu, gpu = cpu_and_gpu(answers, model, "usd_per_hour")
    return (
        f"No: 3 GB of 8-bit weights run on a few modern vCPUs for {cpu:.4f} USD/h; the cheapest"
        f" GPU costs {gpu:.4f}."
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
        l4_for_a_year,
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
        dgx_efficiency,
        "memory",
        "TFLOPS/W",
        "USD/M tokens",
    ),
    ask(
        "What does an RTX 4090 cost to buy?",
        'device "RTX 4090"',
        rtx_4090_prices,
        "to buy",
        "inside a machine",
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
        lora_cost,
    ),
    ask(
        "And with 5 USD?",
        "recommend 7B --workload lora --budget 5 --option any --where cloud --top 3",
        "Spot prices and commitments if on-demand prices exceed the budget; nothing to buy.",
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
        "Ranked by the upper end of the range; for each accelerator, the size with the lowest"
        " price.",
    ),
    ask(
        "The same in any cloud?",
        "recommend llama-2-70b --where cloud --top 3",
        "The same speeds at a lower hourly price.",
    ),
    ask(
        "Llama 3.1 8B with at least 50 tokens/s for every user?",
        "recommend llama-3.1-8b --min-tokens-per-second 50 --where cloud --top 3",
        "The batch is limited to keep 50 tokens/s per user, which raises the price of a token.",
    ),
    ask(
        "Llama 3.1 8B on a machine at home?",
        "recommend llama-3.1-8b --where local --precision int4 --users 1 --top 3",
        "4-bit weights of 4.5 GB; memory bandwidth and purchase price decide.",
    ),
    ask(
        "How fast can Llama 3.1 70B be for one user?",
        "recommend llama-3.1-70b --objective speed --where cloud --top 3",
        "Not a rack: layers are divided over at most 64 devices, and each division waits for its"
        " links twice per layer.",
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
        "Reading the prompt takes seconds: no machine reaches the default TTFT of 2 s.",
    ),
    ask(
        "Llama 3.1 405B?",
        "recommend llama-3.1-405b --where cloud --top 3",
        "Eight GPUs hold 406 GB of 8-bit weights; the remaining memory fits fewer users than for"
        " 70B.",
    ),
    ask(
        "In 16 bits, over two machines if need be?",
        "recommend llama-3.1-405b aws --precision bf16 --max-nodes 2 --where cloud --top 3",
        "812 GB fit eight H200; eight H100 need a second machine; one user is not served faster.",
    ),
    ask(
        "DeepSeek-R1?",
        "recommend deepseek-r1 --where cloud --top 3",
        "A full machine reads nearly all experts in every step, and serves hundreds of users with"
        " it.",
    ),
    ask(
        "DeepSeek-R1 for one user?",
        "recommend deepseek-r1 --users 1 --where cloud --top 3",
        "One user reads 37 of 671 billion parameters per token, and pays for the complete machine.",
    ),
    ask(
        "A model of 671B?",
        "recommend 671B --where cloud --top 3",
        "This means a dense model; the answer says how to ask for DeepSeek.",
    ),
    ask(
        "gpt-oss-120b at home?",
        "recommend gpt-oss-120b --users 1 --where local --precision int4 --top 3",
        "63 GB of 4-bit weights, 5 of 117 billion parameters per token: fast with slow memory.",
    ),
    ask(
        "Llama 2 7B with 128k tokens?",
        "recommend llama-2-7b --context 131072",
        "It was trained for 4,096 tokens.",
    ),
    ask(
        "An embedding model?",
        "recommend bge-m3",
        "It has no output: the model is that of reading prompts, and tokens are input tokens.",
    ),
    ask(
        "10 requests a second of 2,000 tokens in and 300 out, in the US?",
        "recommend llama-3.3-70b --requests-per-second 10 --input 2000 --output 300 --where"
        " cloud us --top 3",
        "3,000 tokens/s are required: the answer has the number of machines that reach them, and"
        " divides their price by these tokens, not by the tokens that they could generate.",
    ),
    ask(
        "Qwen3 32B for 2,000 USD a month?",
        "recommend qwen3-32b --budget 2000/month --where cloud --top 3",
        "730 hours of a machine at no more than 2.74 USD.",
    ),
    ask(
        "Pre-training 70B on 2 T tokens in 60 days?",
        "recommend llama-3.1-70b --workload pretrain --tokens 2e12 --days 60 --where cloud --top 3",
        "8.8e23 operations at 40 % of the peak on machines with an RDMA network; 41 % was measured"
        " on H100.",
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
        "Yes, also per hour: a CPU with 5 tokens/s costs more, and needs half a minute for the"
        " prompt.",
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
        "Measured images per second, at the hourly price.",
    ),
    ask(
        "Images of FLUX.1?",
        "recommend flux --where cloud --top 3",
        "MLPerf has it only in training; two programs publish results of three accelerators.",
    ),
    ask(
        "Speech to text with Whisper?",
        "recommend whisper --where cloud --top 3",
        "MLPerf's samples have up to 30 s: 1,000 of them are 6.6 hours of speech, so an hour costs"
        " less than a cent.",
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
        "What does P5 cost with three years paid upfront?",
        'find "p5 3 years all upfront"',
        "The sample has P5 on demand only, which the answer says.",
    ),
    ask(
        "8 × H200 in the US for less than 30 USD an hour?",
        'find "8xh200 us under 30$/h"',
        "None; the answer has offers without the place, and without the limit.",
    ),
    ask(
        "A GPU with 24 GB?",
        'find "gpu 24gb"',
        "The memory of the machine: a sixth of a card of 24 GB does not match.",
    ),
    ask("Eight H100s in another spelling?", 'find "H100x8 europe"', "The same as 8xH100."),
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
        "A D4s_v5 with Windows and your own license?",
        'find "d4s_v5 windows byol"',
        "The price without the license, which equals that of Linux.",
    ),
    ask(
        "Windows with SQL Server Web on a large machine?",
        'find "sql_web windows 64vcpu"',
        "The price contains both licenses.",
    ),
    ask(
        "M5 on shared and dedicated hardware?",
        'find "m5.xlarge any tenancy"',
        "Every tenancy in the release, here only shared hardware.",
    ),
    ask(
        "Which H100 is in stock?",
        "find h100 --in-stock",
        "Few vendors state their stock, and the answer names them.",
    ),
    ask(
        "Spot for c7g?",
        'find "c7g.large spot"',
        "There is none in the sample; the answer has the other purchase options.",
    ),
    ask(
        "What does D4s_v5 cost by month and year?",
        "price d4s_v5",
        "Linux on shared hardware, unless another system is requested.",
    ),
    ask(
        "What does an A3 with eight H100s cost under each commitment?",
        "price a3-highgpu-8g",
        "Groups by term; savings are relative to on-demand in the same region.",
    ),
    ask(
        "Three clouds' eight H100s side by side?",
        "compare p5.48xlarge a3-highgpu-8g Standard_ND96isr_H100_v5",
        "Columns that do not fit are in a second block; ≠ marks differences.",
    ),
    ask(
        "H100 or MI300X for Llama 3.3 70B?",
        "compare h100 mi300x --model llama-3.3-70b",
        "For each, the machine with the lowest price per token; the lines below name it.",
    ),
    ask(
        "What did P5 cost last year?",
        'history "p5.48xlarge us-east"',
        "From the day on which the price was first observed, with its currency.",
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
    """Run the command of a question, and write its section.

    Raises:
        RuntimeError: the command failed unexpectedly, or its answer lacks a line of the question.
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

    width = NARROW if arguments[0] in SHOWN_LINES.keys() - WIDE else WIDTH
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
    """Return the lines of an answer to show.

    Raises:
        RuntimeError: there are none, or none with some words of the question.
    """
    if not question.lines:
        shown = [line for line in lines if line.strip()][: SHOWN_LINES[question.command[0]] or 3]
    else:
        shown = [line for line in lines if any(_has(line, words) for words in question.lines)]
        for words in question.lines:
            if not any(_has(line, words) for line in shown):
                raise RuntimeError(f"{question.question}: no line of the answer begins {words!r}")
    if not shown:
        raise RuntimeError(f"{question.question}: the answer has no line")
    return shown


def _has(line: str, words: str) -> bool:
    """Check whether a line, or its continuation, begins with words."""
    return f"{line} ".startswith(words) or line.strip().startswith(words)


def page(root: str) -> str:
    """Write the page from the release below a root."""
    sections = [section(question, root) for question in QUESTIONS]
    return "\n".join([INTRODUCTION, *sections])


if __name__ == "__main__":
    TARGET.write_text(page(sys.argv[1] if len(sys.argv) > 1 else "data"), encoding="utf-8")
