"""``hwprices …``: the dataset's reader on the command line."""

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from hwprices.errors import HwpricesError
from hwprices.read import dataset
from hwprices.storage.store import Store

app = typer.Typer(
    no_args_is_help=True,
    help="Read the hwprices dataset: what AI and cloud hardware costs, every number traceable to the vendor's line.\n\n"
    "A dataset is a folder or an object store (s3://, gs://, az://) with releases below it; name it with --root or HWPRICES_ROOT.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Root = Annotated[
    str, typer.Option(envvar="HWPRICES_ROOT", help="The dataset: a folder, or s3://, gs://, az://.")
]
Version = Annotated[str, typer.Option(help="A release's version; hwprices releases lists them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

screen = Console()

WIDE = 160  # columns of the widest table here, a recommendation


def default_root() -> str:
    """A checkout's data folder when run inside one, else ./data."""
    return str(
        next(
            (
                p / "data"
                for p in (Path.cwd(), *Path.cwd().parents)
                if (p / "data" / "latest.json").is_file()
            ),
            Path("data"),
        )
    )


def one_line_errors(command: Callable[..., None]) -> Callable[..., None]:
    """What a person can mend is one line on stderr and exit status 2."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            try:
                command(*args, **kwargs)
            except ModuleNotFoundError as missing:
                raise HwpricesError(
                    f"this command needs {missing.name}, a part of the pipeline",
                    "pip install 'hwprices[pipeline]'.",
                ) from None
        except HwpricesError as error:
            Console(stderr=True).print(
                Text.assemble(("error: ", "red"), str(error)), soft_wrap=True
            )
            raise typer.Exit(2) from None

    return run


def _print(
    frame: pl.DataFrame, as_json: bool, draw: Callable[[pl.DataFrame], RenderableType]
) -> None:
    if as_json:
        typer.echo(json.dumps(frame.to_dicts(), indent=1, default=str))
        return
    # wide tables keep their columns: a terminal that is narrower, or a pipe, gets long lines and not letters one above the other
    Console(width=max(screen.width, WIDE)).print(draw(frame), crop=False)


@app.command()
@one_line_errors
def releases(root: Root = "", as_json: AsJson = False) -> None:
    """List the releases of a dataset, newest last."""
    listed = dataset.releases(root or default_root())
    if as_json:
        typer.echo(json.dumps(listed, indent=1))
        return
    if not listed:
        raise HwpricesError(
            f"no release in {root or default_root()}",
            "Run the refresh flow (make run), or give --root.",
        )
    table = Table(box=None, pad_edge=False)
    for heading in ("version", "prices", "offers", "providers", ""):
        table.add_column(heading, justify="right" if heading in ("prices", "offers") else "left")
    for entry in listed:
        providers = "; ".join(f"{name} ({how})" for name, how in entry["providers"].items())
        table.add_row(
            entry["version"],
            f"{entry['rows'].get('prices', 0):,}",
            f"{entry['rows'].get('offers', 0):,}",
            providers,
            "latest" if entry["latest"] else "",
        )
    screen.print(table)


@app.command()
@one_line_errors
def verify(
    version: Annotated[str, typer.Argument(help="Which release; default the latest.")] = "latest",
    root: Root = "",
) -> None:
    """Check every file of a release against its manifest's checksums. Exit status 1 when something does not match."""
    opened = dataset.open(root or default_root(), version)
    faults = opened.verify()
    for fault in faults:
        typer.echo(fault, err=True)
    count = sum(len(entry["files"]) for entry in opened.manifest["tables"].values())
    if faults:
        raise typer.Exit(1)
    screen.print(
        f"release {opened.version} is whole: {count} files match their checksums", highlight=False
    )


@app.command()
@one_line_errors
def show(
    version: Annotated[str, typer.Argument(help="Which release; default the latest.")] = "latest",
    root: Root = "",
) -> None:
    """Show a release in a screenful: rows, freshness, what an H100 hour costs."""
    from hwprices.read import summary

    Console(width=max(screen.width, summary.WIDE)).print(
        summary.render(dataset.open(root or default_root(), version)), crop=False
    )


@app.command()
@one_line_errors
def query(
    sql: Annotated[
        str,
        typer.Argument(
            help="SQL over the tables, such as: select region, effective_hourly from prices where instance_type = 'g6.xlarge'"
        ),
    ],
    root: Root = "",
    version: Version = "latest",
    as_json: AsJson = False,
) -> None:
    """Ask the dataset in SQL (DuckDB); each table of the release is a view."""
    import duckdb

    opened = dataset.open(root or default_root(), version)
    try:
        result = opened.duckdb.sql(sql)
    except duckdb.Error as error:
        raise HwpricesError(
            str(error).split("\n")[0], f"Tables: {', '.join(opened.tables)}."
        ) from None
    if result is None:
        return
    if as_json:
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]
        typer.echo(json.dumps(rows, indent=1, default=str))
        return
    result.show(max_width=max(screen.width, WIDE), max_rows=200)


@app.command()
@one_line_errors
def device(
    name: Annotated[
        str,
        typer.Argument(
            help="An id, a name or enough words of one: nvidia-l4, 'H100 SXM', 'Raspberry Pi 5'."
        ),
    ],
    root: Root = "",
    version: Version = "latest",
    as_json: AsJson = False,
) -> None:
    """All about one device: what it is, where it is sold, what it costs by the hour, year or to buy, how fast, how clean."""
    from hwprices.read.device.device import device as answer
    from hwprices.read.terminal import render_device

    _print(answer(dataset.open(root or default_root(), version), name), as_json, render_device)


@app.command()
@one_line_errors
def recommend(
    parameters: Annotated[
        str,
        typer.Option(
            help="The model: a number of parameters (7e9, 70B) or a name (llama-3.1-70b)."
        ),
    ],
    workload: Annotated[
        str, typer.Option(help="inference, lora, full_finetune or pretrain.")
    ] = "inference",
    precision: Annotated[
        str, typer.Option(help="Number format of the weights: bf16, fp16, fp8, int8, fp4 …")
    ] = "bf16",
    context: Annotated[int, typer.Option(min=1, help="Tokens of context.")] = 4096,
    objective: Annotated[str, typer.Option(help="Rank by cost, carbon or speed.")] = "cost",
    budget: Annotated[
        float | None, typer.Option(min=0, help="USD for the job; for inference USD an hour.")
    ] = None,
    tokens: Annotated[float | None, typer.Option(min=0, help="Tokens to train on.")] = None,
    days: Annotated[
        float | None,
        typer.Option(min=0, help="Deadline of a training, in days; sets the number of machines."),
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Sequences at once.")] = None,
    max_nodes: Annotated[
        int | None, typer.Option(min=1, help="Most machines to use together.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(help="Only cloud, or only local; default both.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many machines to show.")] = 10,
    excluded: Annotated[
        int, typer.Option(min=0, help="How many of those left out to show, with the reason.")
    ] = 0,
    root: Root = "",
    version: Version = "latest",
    as_json: AsJson = False,
) -> None:
    """Machines that a language-model job fits on, cloud and local, ranked, with the reason for each one left out."""
    from hwprices.read.recommend.recommend import recommend as answer
    from hwprices.read.terminal import render_recommendation

    opened = dataset.open(root or default_root(), version)
    frame = answer(
        parameters,
        workload,
        precision,
        context,
        budget,
        objective,
        dataset=opened,
        batch=batch,
        tokens=tokens,
        days=days,
        max_nodes=max_nodes,
        where=where,
    )
    _print(frame, as_json, lambda found: render_recommendation(found, top, excluded))


@app.command()
@one_line_errors
def tco(
    lifetime_years: Annotated[float, typer.Option(help="Years the machine is used.")] = 5,
    utilisation: Annotated[
        float, typer.Option(help="Share of all hours in which it works, 0 to 1.")
    ] = 0.5,
    usd_per_kwh: Annotated[float, typer.Option(help="Price of electricity.")] = 0.13,
    pue: Annotated[
        float, typer.Option(help="Facility energy over IT energy; 1 for a desk.")
    ] = 1.56,
    root: Root = "",
    version: Version = "latest",
    as_json: AsJson = False,
) -> None:
    """Owning against renting: what an hour of each machine one can buy costs, and when it beats the cheapest cloud offer."""
    from hwprices.read.ownership import Ownership, break_even
    from hwprices.read.terminal import render_break_even

    ownership = Ownership(
        lifetime_years=lifetime_years, utilisation=utilisation, usd_per_kwh=usd_per_kwh, pue=pue
    )
    _print(
        break_even(dataset.open(root or default_root(), version), ownership),
        as_json,
        render_break_even,
    )


@app.command()
@one_line_errors
def explain(
    what: Annotated[str, typer.Argument(help="A price_id, or an instance type.")],
    region: Annotated[str | None, typer.Option(help="Only this region.")] = None,
    os: Annotated[
        str | None, typer.Option("--os", help="Only this operating system: linux, windows, rhel …")
    ] = None,
    option: Annotated[
        str | None, typer.Option(help="Only this purchase option: on_demand, spot, reserved …")
    ] = None,
    root: Root = "",
    version: Version = "latest",
) -> None:
    """Trace a price to the vendor's line: how it is made, from which SKUs, and what the landed page says of them.

    Several prices of one type are listed with their ids; one is explained.
    """
    from hwprices.read import explain as tracing
    from hwprices.read.terminal import render_explanation, render_prices

    opened = dataset.open(root or default_root(), version)
    found = tracing.find(opened, what, region=region, os=os, purchase_option=option)
    drawn = (
        render_explanation(tracing.explain(opened, found["price_id"][0]))
        if found.height == 1
        else render_prices(found)
    )
    Console(width=max(screen.width, WIDE)).print(drawn, crop=False)


@app.command()
@one_line_errors
def prune(
    keep: Annotated[int, typer.Option(min=1, help="How many of the newest releases stay.")] = 30,
    root: Root = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete old releases, and what a killed publisher left. The latest always stays."""
    from hwprices.publish import release

    where = root or default_root()
    if not yes:
        typer.confirm(f"Delete all but the newest {keep} releases in {where}?", abort=True)
    gone = release.prune(Store(where), keep)
    screen.print(
        f"deleted {len(gone)}: {', '.join(gone)}" if gone else "nothing to delete", highlight=False
    )


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
@one_line_errors
def refresh(context: typer.Context) -> None:
    """Collect prices from the clouds and publish them as a release (hwprices[pipeline])."""
    from hwprices.flows import command

    command.app(context.args, prog_name=context.command_path)


@app.command()
@one_line_errors
def serve() -> None:
    """Run the pipeline by its schedules on this machine, until Ctrl-C (hwprices[pipeline])."""
    from hwprices.flows import serve as server

    server.main()


def main() -> None:
    """Entry point of the command ``hwprices``."""
    app()


if __name__ == "__main__":
    main()
