"""refresh, the main job: collect every provider, then publish. Also the command behind ``make run``."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

CHECKOUT = Path(__file__).resolve().parents[1]
if (
    __name__ == "__main__"
):  # as a script: find the package flows, keep Prefect's state out of the home folder and its log short
    sys.path.insert(0, str(CHECKOUT))
    os.environ.setdefault("PREFECT_HOME", str(CHECKOUT / "data" / ".prefect"))
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")

import hwprices.flows  # noqa: F401  (sets Prefect's defaults; before prefect)

# isort: split
import typer
from prefect import flow
from rich.console import Console
from rich.text import Text

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.flows import console
from hwprices.flows.collect import collect
from hwprices.flows.publish import publish
from hwprices.publish.release import Published
from hwprices.read import summary
from hwprices.read.dataset import Dataset
from hwprices.settings import describe, load
from hwprices.storage.store import Store

Source = Literal["sample", "live"]


class ProvidersFailedError(HwpricesError):
    """Some providers failed; what the others gave is published. ``published`` is that release, if there is one."""

    def __init__(self, failed: dict[str, str], published: Published | None) -> None:
        super().__init__("; ".join(failed.values()))
        self.failed = failed
        self.published = published


@flow(name="refresh", validate_parameters=False)
def refresh(
    source: Source | None = None,
    root: str | None = None,
    provider: list[str] | None = None,
    regions: list[str] | None = None,
    accept: list[str] | None = None,
) -> Published:
    """Collect every provider (or those named), then publish what they gave.

    Raises:
        ProvidersFailedError: at the end, if a provider failed; the others are published, the failed one keeps its last release.
    """
    failed: dict[str, str] = {}
    for name in provider or providers.names():
        state = collect(name, source, root, regions, return_state=True)
        if state.is_failed() or state.is_crashed():
            failed[name] = _reason(state.result(raise_on_failure=False), name)
            console.end(name, "failed")
    published: Published | None = None
    try:
        published = publish(root, accept)
    except HwpricesError as error:
        if not failed:
            raise
        failed["publish"] = f"publish: {error}"
    if failed or published is None:
        raise ProvidersFailedError(failed, published)
    return published


def _reason(error: object, name: str) -> str:
    text = str(error) if isinstance(error, HwpricesError) else f"{type(error).__name__}: {error}"
    return text if text.startswith(f"{name}:") else f"{name}: {text}"


def main(
    source: Annotated[
        str,
        typer.Option(
            help="sample replays the bundled landing directory, offline; live asks the vendors.",
            envvar="HWPRICES_SOURCE",
        ),
    ] = "sample",
    provider: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this provider; may be given several times. Default: all there are."
        ),
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this region; may be given several times. Others stay as they were (of GCP, whose catalog is one, they are left out)."
        ),
    ] = None,
    root: Annotated[
        str | None,
        typer.Option(
            help="Where the data lives: a folder or s3://, gs://, az://.",
            envvar="HWPRICES_ROOT",
            show_default="data/",
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(help="Let a gate result through after looking at it, such as aws:type_gone."),
    ] = None,
) -> None:
    """Collect prices and machines from the clouds and publish them as a release.

    Settings are flags or environment variables (below). Credentials are found by the vendors'
    own SDKs. The exit status is 1 when a provider failed (the others are published), 2 when nothing could be done.
    """
    screen, errors = Console(), Console(stderr=True)
    published, failed, code = None, {}, 0
    try:
        settings = load(source=source, root=root)
        for name in provider or []:
            providers.get(name)
        Store(settings.root).check_writable()
        with console.live(screen):
            published = refresh(settings.source, settings.root, provider, region, accept)
    except ProvidersFailedError as error:
        published, failed, code = error.published, error.failed, 1
    except HwpricesError as error:
        failed, code = {"": str(error)}, 2
    if published is not None:
        stopped = [
            f"{r.provider}: kept as it was, {r.check}: {r.detail} (let it through with --accept {r.provider}:{r.check})"
            for r in published.results
            if r.outcome == "stop"
        ]
        wide = Console(width=max(screen.width, summary.WIDE))
        wide.print(
            summary.render(Dataset(Store(settings.root), published.version), new=published.new),
            crop=False,
        )
        for line in stopped:
            errors.print(Text(line, style="yellow"), soft_wrap=True)
    for line in failed.values():
        errors.print(Text.assemble(("error: ", "red"), line), soft_wrap=True)
    raise typer.Exit(code if code != 1 or published is not None else 2)


def _all_settings() -> list[tuple[str, str, str]]:
    """The common settings, then each provider's own."""
    own = [describe(providers.get(name).settings_class) for name in providers.names()]
    return [*describe(), *(setting for settings in own for setting in settings)]


def _help_of_settings() -> str:
    """One paragraph a setting: typer keeps those apart."""
    lines = [
        f"{name}: {meaning}" + (f" Default {default}." if default else "")
        for name, default, meaning in _all_settings()
    ]
    return "\n\n".join(
        ["Environment:", *lines, "AWS_ENDPOINT_URL_EC2: boto3's own, redirects EC2 calls."]
    )


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command(epilog=_help_of_settings())(main)
    app()
