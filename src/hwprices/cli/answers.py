"""Commands that answer a question: device, recommend, tco."""

from typing import Annotated

import typer

from hwprices.cli.common import AsJson, Release, Root, open_dataset, print_frame

DeviceName = Annotated[
    str,
    typer.Argument(
        help="An id, a name or enough words of one: nvidia-l4, 'H100 SXM', 'Raspberry Pi 5'."
    ),
]


def device(
    name: DeviceName, root: Root = "", version: Release = "latest", as_json: AsJson = False
) -> None:
    """Describe an accelerator, CPU or machine.

    Prints what it is, where it is sold, what it costs by the hour, by the year and to buy, how fast
    it is and what it emits. Costs and emissions are of one device; "not known" says why a figure is
    missing.

    Example:

        hwprices device "H100 SXM"
    """
    from hwprices.read.device.device import device as describe
    from hwprices.read.terminal.device import render_device

    print_frame(describe(open_dataset(root, version), name), as_json, render_device)


Model = Annotated[
    str,
    typer.Option(
        "--model-parameters",
        "--parameters",
        help="The model: its number of parameters (7e9, 70B) or its name (llama-3.1-70b).",
    ),
]
Workload = Annotated[str, typer.Option(help="inference, lora, full_finetune or pretrain.")]
Precision = Annotated[
    str, typer.Option(help="Number format of the weights: bf16, fp16, fp8, int8, fp4 …")
]
Context = Annotated[int, typer.Option(min=1, help="Tokens of a sequence.")]
Objective = Annotated[str, typer.Option(help="Rank by cost, carbon or speed.")]
Budget = Annotated[
    float | None, typer.Option(min=0, help="USD for the job; for inference USD an hour.")
]
Tokens = Annotated[float | None, typer.Option(min=0, help="Tokens to train on.")]
Days = Annotated[
    float | None,
    typer.Option(min=0, help="Deadline of a training; sets the number of machines."),
]
Batch = Annotated[int | None, typer.Option(min=1, help="Sequences at once.")]
MaxNodes = Annotated[int | None, typer.Option(min=1, help="Most machines to use together.")]
Where = Annotated[str | None, typer.Option(help="cloud or local; without it both.")]
Top = Annotated[int, typer.Option(min=1, help="How many machines to show.")]
Excluded = Annotated[
    int, typer.Option(min=0, help="How many of the machines left out to show, with the reason.")
]


def recommend(
    model_parameters: Model,
    workload: Workload = "inference",
    precision: Precision = "bf16",
    context: Context = 4096,
    objective: Objective = "cost",
    budget: Budget = None,
    tokens: Tokens = None,
    days: Days = None,
    batch: Batch = None,
    max_nodes: MaxNodes = None,
    where: Where = None,
    top: Top = 10,
    excluded: Excluded = 0,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
) -> None:
    """Rank machines for a language-model job.

    Prints one line per machine, the best first: where, how many are needed (×), USD per hour of all
    of them and under which purchase option, and what the job costs, takes and emits. tokens/s of
    inference is an upper bound. --excluded adds machines that are left out, with the reason.

    Example:

        hwprices recommend --model-parameters 70B --precision fp8
    """
    from hwprices.read.recommend.recommend import recommend as rank
    from hwprices.read.terminal.recommendation import render_recommendation

    frame = rank(
        model_parameters,
        workload,
        precision,
        context,
        budget,
        objective,
        dataset=open_dataset(root, version),
        batch=batch,
        tokens=tokens,
        days=days,
        max_nodes=max_nodes,
        where=where,
    )
    print_frame(frame, as_json, lambda ranked: render_recommendation(ranked, top, excluded))


LifetimeYears = Annotated[float, typer.Option(help="Years that the machine is used.")]
Utilisation = Annotated[float, typer.Option(help="Share of all hours in which it works, 0 to 1.")]
UsdPerKwh = Annotated[float, typer.Option(help="Price of electricity in USD.")]
Pue = Annotated[
    float, typer.Option(help="Energy of the building over that of the machine; 1 for a desk.")
]


def tco(
    lifetime_years: LifetimeYears = 5,
    utilisation: Utilisation = 0.5,
    usd_per_kwh: UsdPerKwh = 0.13,
    pue: Pue = 1.56,
    root: Root = "",
    version: Release = "latest",
    as_json: AsJson = False,
) -> None:
    """Compare owning a machine with renting one.

    Prints for each machine that one can buy: its price, what an hour of use costs its owner, what
    as many accelerators cost per hour in the cheapest cloud offer, and after how many hours of use
    owning is cheaper.

    Example:

        hwprices tco --utilisation 0.8 --usd-per-kwh 0.20
    """
    from hwprices.read.ownership import Ownership, break_even
    from hwprices.read.terminal.recommendation import render_break_even

    ownership = Ownership(
        lifetime_years=lifetime_years, utilisation=utilisation, usd_per_kwh=usd_per_kwh, pue=pue
    )
    print_frame(break_even(open_dataset(root, version), ownership), as_json, render_break_even)
