"""The command ``hwprices admin verify``: a release against its checksums."""

import polars
import typer

from hwprices.cli.common import LATEST, ReleaseArgument, call, open_dataset, print_csv, print_json
from hwprices.hidden_characters import escaped

SHARED = ("root", "version", "json", "csv")


def verify(version: ReleaseArgument = LATEST) -> None:
    """Check a release against its checksums.

    Prints one line for each file that is missing, altered, or not in the manifest, and ends with
    exit status 1 if there is any.

    Example:

        hwprices admin verify
    """
    dataset = open_dataset(version)
    faults = dataset.verify()
    count = sum(len(entry["files"]) for entry in dataset.manifest["tables"].values())
    if call().as_json:
        print_json({"version": dataset.version, "files": count, "faults": faults})
    elif call().as_csv:
        print_csv(polars.DataFrame({"fault": faults}, schema={"fault": polars.String}))
    else:
        for fault in faults:
            typer.echo(escaped(fault), err=True)
    if faults:
        raise typer.Exit(1)
    if not call().for_programs:
        typer.echo(f"release {dataset.version} is whole: {count} files match their checksums")
