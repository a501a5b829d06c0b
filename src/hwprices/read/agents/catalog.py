"""Declare the tools of the server: what a stranger reads of each, and its arguments.

It imports nothing heavy: a program that starts the server waits for this list. ``tools`` has the
function that answers each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwprices.errors import HwpricesError


@dataclass(frozen=True)
class Tool:
    """One tool: its name, what a stranger reads of it, its arguments as JSON Schema, an example."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, Any]
    required: tuple[str, ...]
    example: str

    @property
    def input_schema(self) -> dict[str, Any]:
        """The arguments as JSON Schema."""
        return {
            "type": "object",
            "properties": dict(self.arguments),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Check the arguments of a call.

        Raises:
            HwpricesError: one is unknown, missing or of another type.
        """
        unknown = sorted(set(arguments) - set(self.arguments))
        missing = [name for name in self.required if not str(arguments.get(name, "")).strip()]
        if unknown or missing:
            raise HwpricesError(
                f"{self.name} has no argument {unknown[0]!r}"
                if unknown
                else f"{self.name} needs the argument {missing[0]!r}",
                f"It takes: {', '.join(self.arguments)}.",
            )
        for name, value in arguments.items():
            kind = self.arguments[name]["type"]
            is_kind = isinstance(value, PYTHON_TYPES[kind])
            if not is_kind or (isinstance(value, bool) and kind != "boolean"):
                raise HwpricesError(f"the argument {name!r} is a {kind}, not {value!r}")


PYTHON_TYPES: Mapping[str, Any] = {
    "string": str,
    "number": int | float,
    "integer": int,
    "boolean": bool,
    "object": dict,
}
"""JSON Schema's types of arguments."""


def _argument(description: str, kind: str = "string") -> dict[str, str]:
    return {"type": kind, "description": description}


def _number(description: str) -> dict[str, str]:
    return _argument(description, "number")


QUESTION = _argument(
    "A few words: accelerator and count (8xH100, A100 80GB), machine type or family (p5.48xlarge),"
    " sizes (16vcpu 64gb), cloud (aws), place (europe, germany, us-east-1), purchase option"
    " (on demand, spot, 1y, reserved), system (windows), limit (under 30 usd). Example: 8xH100"
    " europe 1y"
)
RATES = _argument(
    'Exchange rates, USD for one unit: {"EUR": 1.08}. Without a rate, prices in other currencies'
    " are listed last and not compared.",
    "object",
)
TOOLS: Sequence[Tool] = (
    Tool(
        "find",
        "Find offers",
        "Find rentable cloud machines by accelerator, size, place or purchase option, and what each"
        " costs per hour, the cheapest first. For: what does 8xH100 cost in Europe, where is B200"
        " sold, the cheapest spot A100. Prices are of the whole machine, list prices.",
        {"question": QUESTION, "usd_per": RATES},
        ("question",),
        "8xH100 europe 1y",
    ),
    Tool(
        "price",
        "Price of one machine type",
        "Show one machine type: specification and the price per hour of each purchase option (on"
        " demand, spot, 1 and 3 years) in its cheapest region or the named place, with saving and"
        " break-even. For: what does p5.48xlarge cost, is a commitment worth it.",
        {
            "question": _argument(
                "A machine type, and perhaps place and system: d4s_v5 westeurope windows"
            ),
            "usd_per": RATES,
        },
        ("question",),
        "p5.48xlarge us-east-1",
    ),
    Tool(
        "compare",
        "Compare machine types",
        "Compare two to five machine types side by side: sizes, accelerators, cheapest prices. With"
        " one machine type: its nearest equal in every other cloud. For: g6.xlarge or"
        " g2-standard-4, what is the Azure equal of p5.48xlarge.",
        {
            "question": _argument("Machine types, and perhaps a place: g6.xlarge g2-standard-4"),
            "equals": _argument(
                "Add the nearest machine of every other cloud to the first one.", "boolean"
            ),
            "usd_per": RATES,
        },
        ("question",),
        "g6.xlarge g2-standard-4",
    ),
    Tool(
        "explain",
        "Explain and cite a price",
        "Prove one price: the citation to paste, how the price is computed, the vendor's SKU, page"
        " and line, since when it is valid. Given a citation instead, say whether it still holds:"
        " SAME, MOVED, GONE, RESTATED or ALTERED. For: where does this figure come from.",
        {
            "price": _argument(
                "A price_id from another tool, a citation, or words of which the cheapest price is"
                " taken: p5.48xlarge us-east-1 on_demand"
            )
        },
        ("price",),
        "p5.48xlarge us-east-1 on_demand",
    ),
    Tool(
        "history",
        "Price history",
        "List what a machine type or accelerator cost and in which time, with the reason of each"
        " change: the vendor's, or a correction of ours. For: did H100 prices fall.",
        {"question": QUESTION},
        ("question",),
        "p5.48xlarge us-east",
    ),
    Tool(
        "recommend",
        "Recommend machines for a model",
        "Rank machines to rent and to buy for running or training a model: USD per million tokens"
        " (or of the training), speed, users, gCO2e. Says what it assumes. For: what serves Llama"
        " 3.1 70B for the least, what does a LoRA of 7B cost.",
        {
            "model": _argument(
                "A model or its number of parameters: llama-3.1-70b, deepseek-r1, sdxl, 7B"
            ),
            "workload": _argument("inference, batch, lora, full_finetune or pretrain"),
            "precision": _argument("Format of the weights: bf16, fp8, int8, fp4, int4"),
            "objective": _argument("Rank by cost, carbon, speed, throughput or hourly"),
            "where": _argument("cloud (to rent) or local (to buy); without it both"),
            "machines": _argument("accelerators, cpus (no accelerator) or all"),
            "provider": _argument("Only this cloud: aws"),
            "region": _argument("Only this region or direction: us-east-1, us-east"),
            "country": _argument("Only this country: DE, germany"),
            "option": _argument("on_demand, spot, commit_1y, commit_3y, block or any"),
            "concurrency": _number("Users served together"),
            "requests_per_second": _number("Requests that arrive in a second"),
            "input_tokens": _number("Tokens of a prompt"),
            "output_tokens": _number("Tokens of an answer"),
            "context": _argument("Tokens of a sequence", "integer"),
            "min_tokens_per_second": _number("Tokens/s that each user must get"),
            "tokens": _number("Tokens to train on, or of a batch"),
            "days": _number("Deadline of a training or batch"),
            "budget": _number("USD: of the training, or an hour of inference"),
            "budget_per_month": _number("USD of a month"),
        },
        ("model",),
        "llama-3.1-70b",
    ),
    Tool(
        "device",
        "Describe a device",
        "Describe an accelerator, CPU or machine to buy: memory, dense rates, power, price per"
        " device and hour in each cloud, price to buy, cost per million tokens. For: how much"
        " memory has an MI300X, what does an L4 cost per year.",
        {"name": _argument("A device: H100 SXM, L4, MI300X, TPU v5e, Graviton4, DGX H100")},
        ("name",),
        "H100 SXM",
    ),
    Tool(
        "coverage",
        "What the data covers",
        "State which clouds and regions have prices, of which days, in which currencies, whether"
        " recorded or collected live, and what is not in the data. Call it before saying that"
        " something is not sold.",
        {"question": _argument("Nothing for all clouds, or clouds and places: aws europe")},
        (),
        "aws europe",
    ),
)
"""The tools, in the order of the list that programs see."""

SQL = Tool(
    "sql",
    "Ask in SQL",
    "Ask the release in DuckDB's SQL. Tables are views: prices, offers, instance_types, regions,"
    " availability, accelerators, price_history … (describe prices lists columns). Reads these"
    " tables only; 20 seconds, 40 rows.",
    {"query": _argument("One query in DuckDB's SQL")},
    ("query",),
    "select count(*) from prices",
)
"""The tool that the server has only if it is started with --sql."""
