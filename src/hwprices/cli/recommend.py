"""The command recommend."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hwprices.cli import completion, filters, owning
from hwprices.cli.common import AsCsv, AsJson, Release, Root, UsdPer, open_dataset, print_frame

if TYPE_CHECKING:
    import polars as pl

    from hwprices.read.recommend.job import Question


def _panel(panel: str) -> Callable[..., Any]:
    """Make a function that declares an option of a panel: its help, then its names."""

    def option(text: str, *names: str, **settings: Any) -> Any:
        return typer.Option(*names, help=text, rich_help_panel=panel, **settings)

    return option


question_option = _panel("Question")
serving_option = _panel("Serving")
training_option = _panel("Training")
limit_option = _panel("Places, prices and budgets")

Model = Annotated[
    str,
    question_option(
        "The model: its name (llama-3.1-70b, meta-llama/Llama-3.1-70B-Instruct, sdxl, whisper) or"
        " number of parameters (70B).",
        "--model-parameters",
        "--parameters",
        "--model",
    ),
]
Workload = Annotated[str, question_option("inference, lora, full_finetune or pretrain.")]
Precision = Annotated[
    str | None,
    question_option(
        "Number format of the stored weights: bf16, fp8, int8, fp4, int4 (or its other names:"
        " 4bit, nf4, q4_k_m) … A device without"
        " that format computes in 16 bits. Inference: as measured, else 8 bits, or 4 where the"
        " model is published in 4; training: bf16."
    ),
]
Objective = Annotated[
    str,
    question_option(
        "Rank by cost (per million tokens, or of the training), carbon (the same), speed (of"
        " one user), throughput (of all users) or hourly (USD an hour)."
    ),
]
Context = Annotated[
    int | None,
    question_option(
        "Tokens of a sequence, prompt and answer together; of one length the other is the rest.",
        min=1,
    ),
]
Input = Annotated[float | None, serving_option("Tokens of a prompt.", "--input", min=1)]
Output = Annotated[float | None, serving_option("Tokens of an answer.", "--output", min=1)]
Concurrency = Annotated[
    float | None,
    serving_option(
        "Users served at once. Without it: as many as a machine holds. Below 8, speeds are based on"
        " measurements of one user in place of full machines.",
        "--concurrency",
        "--users",
        min=1,
    ),
]
Requests = Annotated[
    float | None,
    serving_option(
        "Requests that arrive in a second: machines are counted for these, and costs per million"
        " tokens are of their tokens, not of all that the machines could do.",
        "--requests-per-second",
    ),
]
MinSpeed = Annotated[
    float | None,
    serving_option(
        "Tokens/s that each user must get, at least. Without it: 5, reading speed.",
        "--min-tokens-per-second",
    ),
]
FirstToken = Annotated[
    float | None,
    serving_option(
        "Seconds in which an answer must begin on a free machine.", "--max-seconds-to-first-token"
    ),
]
Cache = Annotated[
    str | None,
    serving_option(
        "Number format of the cache: fp8 or fp16. Without it: fp8 where weights and device"
        " have 8 bits.",
        "--kv-precision",
    ),
]
Tokens = Annotated[float | None, training_option("Tokens to train on.", min=0)]
Days = Annotated[
    float | None,
    training_option("Deadline, which sets the number of machines. Without it: 30.", min=0),
]
Batch = Annotated[
    int | None,
    training_option("Sequences at once: of each device in training, total for inference.", min=1),
]
MaxNodes = Annotated[int | None, training_option("Most machines that share one model.", min=1)]
Optimizer = Annotated[str, training_option("adam, adam8bit or sgd.")]
Checkpointing = Annotated[
    bool, training_option("Compute activations again instead of keeping them all.")
]
Mfu = Annotated[
    float | None,
    training_option("Share of the peak rate that training reaches. Without it: by fabric."),
]
Budget = Annotated[
    float | None, limit_option("USD for the training; for inference USD an hour.", min=0)
]
MonthlyBudget = Annotated[
    float | None,
    limit_option(
        "USD for a month of 730 hours, or for a training that takes less.", "--budget-per-month"
    ),
]
BuyingBudget = Annotated[
    float | None, limit_option("USD that a machine may cost to buy.", "--budget-to-buy")
]
Where = Annotated[str | None, limit_option("cloud (to rent) or local (to buy); without it both.")]
Machines = Annotated[
    str,
    limit_option("accelerators, cpus (machines to rent without an accelerator) or all."),
]
Provider = Annotated[
    str | None,
    limit_option("Only this cloud, such as aws.", autocompletion=completion.providers),
]
Region = Annotated[
    str | None,
    limit_option(
        "Only this region, or direction: us-east-1, us-east.", autocompletion=completion.regions
    ),
]
Country = Annotated[str | None, limit_option("Only this country: DE, germany.")]
Option = Annotated[
    str,
    limit_option(
        "on_demand, spot, commit_1y, commit_3y, block (a reservation of days) or any.",
        "--option",
        "--purchase-option",
    ),
]
Community = Annotated[
    bool,
    limit_option(
        "Rank community hosts too (RunPod's Community Cloud).",
        "--community/--no-community",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "--top",
        min=1,
        help="How many machines to rent, and as many to buy; without it 8 and 5, and all with"
        " --csv, --json.",
    ),
]
SHOWN = 8  # machines: those worth a second look
Excluded = Annotated[
    int, typer.Option(min=0, help="How many of the machines left out to show, with the reason.")
]


def recommend(
    invoked: typer.Context,
    model_parameters: Model,
    workload: Workload = "inference",
    precision: Precision = None,
    objective: Objective = "cost",
    context: Context = None,
    input_tokens: Input = None,
    output_tokens: Output = None,
    concurrency: Concurrency = None,
    requests_per_second: Requests = None,
    min_tokens_per_second: MinSpeed = None,
    max_seconds_to_first_token: FirstToken = None,
    kv_precision: Cache = None,
    tokens: Tokens = None,
    days: Days = None,
    batch: Batch = None,
    max_nodes: MaxNodes = None,
    optimizer: Optimizer = "adam",
    checkpointing: Checkpointing = True,
    mfu: Mfu = None,
    budget: Budget = None,
    budget_per_month: MonthlyBudget = None,
    budget_to_buy: BuyingBudget = None,
    where: Where = None,
    machines: Machines = "accelerators",
    provider: Provider = None,
    region: Region = None,
    country: Country = None,
    option: Option = "on_demand",
    community: Community = False,
    usd_per: UsdPer = None,
    overlays: filters.OverlayFile = None,
    lifetime_years: owning.LifetimeYears = 5,
    utilisation: owning.Utilisation = 0.5,
    usd_per_kwh: owning.UsdPerKwh = 0.13,
    pue: owning.Pue = 1.56,
    grid: owning.Grid = None,
    top: Top = None,
    excluded: Excluded = 0,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Rank machines for a model, to rent and to buy.

    Those to rent are ranked by the work done, those to buy by their price.

    The first line says what the answer assumes; every option replaces an assumption. "basis"
    says how the speed is known: measured (this model on this accelerator), scaled (from another
    measurement of it) or modelled, each with the error to expect.

    "pays after" counts the hours of this work after which a machine has cost as much as the
    cheapest rent for it: "not within 5 years" where it is not used that long, "never" where its
    electricity alone costs more. --json and --csv have the hours of the former all the same, and
    with --top as many machines to rent as to buy.

    Examples:

        hwprices recommend --model llama-3.1-70b

        hwprices recommend --model llama-3.1-8b --min-tokens-per-second 50 --country DE

        hwprices recommend --model 7B --workload lora --budget 20 --option spot

        hwprices recommend --model deepseek-r1 --requests-per-second 20 --input 2000 --output 500

        hwprices recommend --model qwen3-32b --where local --precision int4 --users 1

        hwprices recommend --model llama-3.1-70b --workload pretrain --tokens 2e12 --days 60

        hwprices recommend --model llama-3.1-8b --users 1 --machines all

        hwprices recommend --model sdxl
    """
    import polars as pl

    from hwprices.read.find.offers import sheet_notes
    from hwprices.read.ownership import Ownership
    from hwprices.read.recommend import places
    from hwprices.read.terminal.recommendation import render_recommendation

    rates = filters.usd_rates(usd_per)
    given = invoked.params | {"usd_per": rates, "overlays": filters.load_overlays(overlays)}
    question = _question(given)
    dataset = open_dataset(root, version)
    ownership = Ownership(
        lifetime_years=lifetime_years,
        utilisation=utilisation,
        usd_per_kwh=usd_per_kwh,
        pue=pue,
        grid_gco2e_per_kwh=grid,
        usd_per=rates,
    )
    frame = dataset.recommend(question, ownership=ownership)
    shown = top or SHOWN
    notes = list(sheet_notes(dataset, frame.filter(pl.col("excluded").is_null()).head(shown)))
    if frame.filter(where="cloud").is_empty():
        missing = places.why_nothing_to_rent(dataset, question.limits)
        notes += [missing] if missing else []
    print_frame(
        _first(frame, top) if as_json or as_csv else frame,
        as_json,
        lambda ranked: render_recommendation(ranked, shown, excluded, notes, ownership, top),
        as_csv=as_csv,
        notes=notes,
    )


def _first(machines: "pl.DataFrame", top: int | None) -> "pl.DataFrame":
    """Keep the first machines to rent, and as many to buy; all without a number."""
    import polars as pl

    return machines if top is None else machines.filter(pl.int_range(pl.len()).over("where") < top)


def _question(values: Mapping[str, Any]) -> "Question":
    """Return the question that the options ask; ``values`` has them by name."""
    from hwprices.read.recommend.job import Limits, Question, Serving

    names = [field.name for field in fields(Question) if field.name not in ("serving", "limits")]
    return Question(
        **{name: values[name] for name in names},
        serving=Serving(**{name: values[name] for name in vars(Serving())}),
        limits=Limits(**{name: values[name] for name in vars(Limits())}),
    )
