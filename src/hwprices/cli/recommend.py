"""The command recommend."""

from typing import Annotated

import typer

from hwprices.cli import filters
from hwprices.cli.common import AsCsv, AsJson, Release, Root, UsdPer, open_dataset, print_frame

ASKED = "What is asked"
SERVING = "Serving"
TRAINING = "Training"
LIMITS = "Places, prices and budgets"
OWNING = "Machines to buy"

Model = Annotated[
    str,
    typer.Option(
        "--model-parameters",
        "--parameters",
        "--model",
        help="The model: its name (llama-3.1-70b, sdxl) or number of parameters (70B).",
        rich_help_panel=ASKED,
    ),
]
Workload = Annotated[
    str,
    typer.Option(help="inference, lora, full_finetune or pretrain.", rich_help_panel=ASKED),
]
Precision = Annotated[
    str | None,
    typer.Option(
        help="Number format of the stored weights: bf16, fp8, int8, fp4, int4 … A device without"
        " that format computes in 16 bits. Inference: as measured, else 8 bits; training: bf16.",
        rich_help_panel=ASKED,
    ),
]
Objective = Annotated[
    str,
    typer.Option(
        help="Rank by cost (per million tokens, or of the training), carbon (the same), speed (of"
        " one user), throughput (of all users) or hourly (USD an hour).",
        rich_help_panel=ASKED,
    ),
]
Context = Annotated[
    int | None,
    typer.Option(
        min=1, help="Tokens of a sequence, prompt and answer together.", rich_help_panel=ASKED
    ),
]
Input = Annotated[
    float | None,
    typer.Option("--input", min=1, help="Tokens of a prompt.", rich_help_panel=SERVING),
]
Output = Annotated[
    float | None,
    typer.Option("--output", min=1, help="Tokens of an answer.", rich_help_panel=SERVING),
]
Concurrency = Annotated[
    float | None,
    typer.Option(
        "--concurrency",
        "--users",
        min=1,
        help="Users served at once. Without it: as many as a machine holds.",
        rich_help_panel=SERVING,
    ),
]
Requests = Annotated[
    float | None,
    typer.Option(
        "--requests-per-second", help="Requests that arrive in a second.", rich_help_panel=SERVING
    ),
]
MinSpeed = Annotated[
    float | None,
    typer.Option(
        "--min-tokens-per-second",
        help="Tokens/s that each user must get, at least. Without it: 5, reading speed.",
        rich_help_panel=SERVING,
    ),
]
FirstToken = Annotated[
    float | None,
    typer.Option(
        "--max-seconds-to-first-token",
        help="Seconds in which an answer must begin on a free machine.",
        rich_help_panel=SERVING,
    ),
]
Cache = Annotated[
    str | None,
    typer.Option(
        "--kv-precision",
        help="Number format of the cache: fp8 or fp16. Without it: fp8 where weights and device"
        " have 8 bits.",
        rich_help_panel=SERVING,
    ),
]
Tokens = Annotated[
    float | None, typer.Option(min=0, help="Tokens to train on.", rich_help_panel=TRAINING)
]
Days = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Deadline, which sets the number of machines. Without it: 30.",
        rich_help_panel=TRAINING,
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Sequences at once: on each device in training, in all for inference.",
        rich_help_panel=TRAINING,
    ),
]
MaxNodes = Annotated[
    int | None,
    typer.Option(min=1, help="Most machines that share one model.", rich_help_panel=TRAINING),
]
Optimizer = Annotated[str, typer.Option(help="adam, adam8bit or sgd.", rich_help_panel=TRAINING)]
Checkpointing = Annotated[
    bool,
    typer.Option(
        help="Compute activations again instead of keeping them all.", rich_help_panel=TRAINING
    ),
]
Mfu = Annotated[
    float | None,
    typer.Option(
        help="Share of the peak rate that training reaches. Without it: by fabric.",
        rich_help_panel=TRAINING,
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        min=0, help="USD for the training; for inference USD an hour.", rich_help_panel=LIMITS
    ),
]
MonthlyBudget = Annotated[
    float | None,
    typer.Option("--budget-per-month", help="USD for 730 hours.", rich_help_panel=LIMITS),
]
BuyingBudget = Annotated[
    float | None,
    typer.Option(
        "--budget-to-buy", help="USD that a machine may cost to buy.", rich_help_panel=LIMITS
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        help="cloud (to rent) or local (to buy); without it both.", rich_help_panel=LIMITS
    ),
]
Provider = Annotated[
    str | None, typer.Option(help="Only this cloud, such as aws.", rich_help_panel=LIMITS)
]
Region = Annotated[str | None, typer.Option(help="Only this region.", rich_help_panel=LIMITS)]
Country = Annotated[
    str | None, typer.Option(help="Only this country: DE, US …", rich_help_panel=LIMITS)
]
Option = Annotated[
    str,
    typer.Option(
        "--option",
        "--purchase-option",
        help="on_demand, spot, commit_1y, commit_3y, block (a reservation of days) or any.",
        rich_help_panel=LIMITS,
    ),
]
Utilisation = Annotated[
    float,
    typer.Option(
        help="Share of all hours in which a machine that one owns works, 0 to 1.",
        rich_help_panel=OWNING,
    ),
]
Grid = Annotated[
    float | None,
    typer.Option(
        "--grid", help="gCO2e/kWh of your electricity, for its emissions.", rich_help_panel=OWNING
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "--top",
        min=1,
        help="How many machines; without it 8, and all with --csv, --json.",
    ),
]
SHOWN = 8  # machines: those worth a second look
Excluded = Annotated[
    int, typer.Option(min=0, help="How many of the machines left out to show, with the reason.")
]


def recommend(
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
    provider: Provider = None,
    region: Region = None,
    country: Country = None,
    option: Option = "on_demand",
    usd_per: UsdPer = None,
    overlays: filters.OverlayFile = None,
    utilisation: Utilisation = 0.5,
    grid: Grid = None,
    top: Top = None,
    excluded: Excluded = 0,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Rank machines for a model, to rent and to buy.

    Those to rent are ranked by the work done, those to buy by their price.

    The first line says what the answer assumes; every option replaces an assumption. "rests on"
    says how the speed is known: measured (this model on this accelerator), scaled (from another
    measurement of it) or modelled, each with the error to expect.

    Examples:

        hwprices recommend --model llama-3.1-70b

        hwprices recommend --model llama-3.1-8b --min-tokens-per-second 50 --country DE

        hwprices recommend --model 7B --workload lora --budget 20 --option spot

        hwprices recommend --model deepseek-r1 --requests-per-second 20 --input 2000 --output 500

        hwprices recommend --model qwen3-32b --where local --precision int4 --users 1

        hwprices recommend --model llama-3.1-70b --workload pretrain --tokens 2e12 --days 60

        hwprices recommend --model sdxl
    """
    import polars as pl

    from hwprices.read.find.offers import sheet_notes
    from hwprices.read.ownership import Ownership
    from hwprices.read.recommend import job, media
    from hwprices.read.recommend import recommend as ranking
    from hwprices.read.terminal.recommendation import render_recommendation

    rates = filters.usd_rates(usd_per)
    values = locals() | {"usd_per": rates, "overlays": filters.load_overlays(overlays)}
    limits = job.Limits(**{name: values[name] for name in vars(job.Limits())})
    ownership = Ownership(
        utilisation=utilisation,
        grid_gco2e_per_kwh=grid,
        usd_per={currency: float(rate) for currency, rate in rates.items()},
    )
    dataset = open_dataset(root, version)
    if media.benchmark(model_parameters):
        frame = media.recommend(model_parameters, dataset, limits, ownership)
    else:
        serving = job.Serving(**{name: values[name] for name in vars(job.Serving())})
        if objective == "speed" and concurrency is None and batch is None:
            serving = job.Serving(**{**vars(serving), "concurrency": 1})
        names = ("tokens", "days", "batch", "max_nodes", "optimizer", "checkpointing", "mfu")
        asked = job.make_job(
            model_parameters,
            workload,
            precision,
            context,
            serving=serving,
            limits=limits,
            **{name: values[name] for name in names},
        )
        frame = ranking.answer(asked, dataset, ownership)
    shown = top or SHOWN
    notes = sheet_notes(dataset, frame.filter(pl.col("excluded").is_null()).head(shown))
    print_frame(
        frame,
        as_json,
        lambda ranked: render_recommendation(ranked, shown, excluded, notes),
        as_csv=as_csv,
        limit=top,
        notes=notes,
    )
