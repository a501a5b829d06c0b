"""Questions for the page and for Python, and how their answers are compared."""

import math
import random
from typing import Any

import polars as pl

import hwprices
from hwprices.errors import HwpricesError
from hwprices.read.recommend import job
from hwprices.read.recommend.recommend import answer

FIGURES = (
    "nodes",
    "total_accelerators",
    "usd_per_hour",
    "purchase_price_usd",
    "hours",
    "tokens_per_second",
    "tokens_per_second_per_user",
    "seconds_to_first_token",
    "concurrency",
    "usd",
    "usd_per_month",
    "usd_per_million_tokens",
    "usd_per_million_input_tokens",
    "usd_per_million_output_tokens",
    "operational_gco2e",
    "gco2e_per_million_tokens",
    "rent_usd_per_hour",
    "payback_hours",
    "error",
    "error_p90",
)
TEXTS = (
    "region",
    "accelerator_id",
    "purchase_price_date",
    "precision",
    "compute_format",
    "basis",
    "measurement",
)

TOLERANCE = 1e-6  # Python rounds money at the tenth decimal

NAMED: list[dict[str, str]] = [
    {"model": "llama-3.1-70b"},
    {"model": "llama-3.1-8b", "min-tokens-per-second": "50", "country": "US"},
    {"model": "deepseek-r1", "requests-per-second": "20", "input": "2000", "output": "500"},
    {"model": "llama-2-70b", "workload": "lora"},
    {"model": "llama-2-70b", "workload": "lora", "days": "0.08"},
    {"model": "llama-2-70b", "workload": "lora", "context": "512", "optimizer": "sgd"},
    {"model": "llama-2-70b", "workload": "lora", "precision": "int4", "budget": "100"},
    {"model": "llama-3.1-70b", "workload": "pretrain", "tokens": "2e12", "days": "60"},
    {"model": "qwen3-235b-a22b"},  # 4 KV heads: copied on 8 and 16 devices
    {"model": "llama-3.1-8b", "objective": "speed"},
    {"model": "gpt-oss-120b"},
    {"model": "llama-3.1-8b", "community": "yes"},
    {"model": "llama-3.1-8b", "region": "community"},
    {"model": "llama-3.1-8b", "country": "DE"},
    {"model": "qwen3-32b", "where": "local", "precision": "int4", "users": "1"},
    {"model": "llama-3.1-405b", "max-nodes": "4", "option": "any", "precision": "bf16"},
]

CHOICES: dict[str, tuple[str, ...]] = {
    "objective": ("cost", "hourly", "speed", "throughput", "carbon"),
    "precision": ("", "", "bf16", "fp8", "int8", "fp4", "int4", "fp32"),
    "where": ("", "", "cloud", "local"),
    "provider": ("", "", "", "aws", "gcp", "azure"),
    "country": ("", "", "", "US", "DE"),
    "community": ("", "", "yes"),
    "option": ("on_demand", "on_demand", "spot", "commit_1y", "commit_3y", "block", "any"),
    "max-nodes": ("", "", "2", "16"),
    "budget": ("", "", "5", "50"),
    "budget-per-month": ("", "", "", "5000"),
    "budget-to-buy": ("", "", "", "10000"),
}
SERVING: dict[str, tuple[str, ...]] = {
    "input": ("", "", "100", "2000.5", "3000"),
    "output": ("", "", "1", "200", "1000"),
    "min-tokens-per-second": ("", "", "1", "30", "100"),
    "max-seconds-to-first-token": ("", "", "0.3", "2"),
    "kv-precision": ("", "", "fp8", "fp16"),
}
TRAINING: dict[str, tuple[str, ...]] = {
    "tokens": ("", "1e6", "5e9"),
    "days": ("", "1", "90"),
    "context": ("", "512", "2048"),
    "optimizer": ("adam", "adam8bit", "sgd"),
}


def drawn(number: int, models: list[str]) -> list[dict[str, str]]:
    """Draw questions: the same each time."""
    dice = random.Random(15)
    return [_draw(dice, models) for _ in range(number)]


def _draw(dice: random.Random, models: list[str]) -> dict[str, str]:
    workload = dice.choice(("inference", "inference", "lora", "full_finetune", "pretrain"))
    choices = CHOICES | (SERVING if workload == "inference" else TRAINING)
    question = {name: dice.choice(values) for name, values in choices.items()}
    question |= {"model": dice.choice(models), "workload": workload}
    if workload == "inference" and question["objective"] != "speed":
        load = dice.choice(("", "users", "requests-per-second"))
        question |= {load: dice.choice(("1", "5", "64", "1000"))} if load else {}
    if workload in ("full_finetune", "pretrain") and question["precision"] in job.STORAGE_FORMATS:
        question["precision"] = ""
    return {name: value for name, value in question.items() if value}


def job_of(question: dict[str, str]) -> job.Job:
    """Ask as the command does."""

    def number(name: str) -> float | None:
        return float(question[name]) if name in question else None

    def whole(name: str) -> int | None:
        return int(question[name]) if name in question else None

    objective = question.get("objective", "cost")
    return job.make_job(
        job.Question(
            question["model"],
            question.get("workload", "inference"),
            question.get("precision"),
            whole("context"),
            tokens=number("tokens"),
            days=number("days"),
            max_nodes=whole("max-nodes"),
            optimizer=question.get("optimizer", "adam"),
            serving=job.Serving(
                input_tokens=number("input"),
                output_tokens=number("output"),
                concurrency=number("users"),
                requests_per_second=number("requests-per-second"),
                min_tokens_per_second=number("min-tokens-per-second"),
                max_seconds_to_first_token=number("max-seconds-to-first-token"),
                kv_precision=question.get("kv-precision"),
            ),
            limits=job.Limits(
                objective=objective,
                where=question.get("where"),
                provider=question.get("provider"),
                region=question.get("region"),
                country=question.get("country"),
                option=question.get("option", "on_demand"),
                community="community" in question,
                budget=number("budget"),
                budget_per_month=number("budget-per-month"),
                budget_to_buy=number("budget-to-buy"),
            ),
        )
    )


ASK_PAGE = """(question) => {
  try { return { machines: hwprices.recommend(question) }; }
  catch (error) { return { problem: error.message }; }
}"""


def differences(page: Any, dataset: hwprices.Dataset, question: dict[str, str]) -> list[Any]:
    """Compare the page's answer to a question with Python's; empty where they are equal."""
    reply = page.evaluate(ASK_PAGE, question)
    try:
        expected = answer(job_of(question), dataset)
    except HwpricesError as error:
        return [] if "problem" in reply else [(question, str(error))]
    if "problem" in reply:
        return [(question, reply["problem"])]
    machines = {_name(machine): machine for machine in reply["machines"]}
    if len(machines) != expected.height:
        return [(question, len(machines), expected.height)]
    rows = expected.with_columns(
        pl.selectors.decimal().cast(pl.Float64), pl.selectors.date().dt.to_string()
    ).iter_rows(named=True)
    return [
        (question, row["machine"], name, value, row[name])
        for row in rows
        for name, value in _compared(machines[_name(row)], row)
        if not same(value, row[name])
    ]


def _name(machine: dict[str, Any]) -> tuple[Any, ...]:
    """Tell machines apart; those of community hosts that are left out are listed apart."""
    is_private = machine["excluded_reason"] == "private_host"
    return machine["where"], machine["provider"], machine["machine"], is_private


def _compared(machine: dict[str, Any], row: dict[str, Any]) -> list[tuple[str, Any]]:
    """List what is compared: of a machine left out only that, and why."""
    names = ("rank", "excluded_reason")
    if row["rank"] is not None:
        names += (*FIGURES, *TEXTS)
    return [(name, machine[name] if machine[name] != "" else None) for name in names]


def same(value: Any, expected: Any) -> bool:
    """Tell whether a figure or text of the page is Python's."""
    if isinstance(value, int | float) and isinstance(expected, int | float):
        return math.isclose(value, expected, rel_tol=TOLERANCE, abs_tol=1e-9)
    return bool(value == expected)
