"""The command ``hwprices verify``: a release against its checksums."""

import polars
import typer

from hwprices.cli.common import (
    LATEST,
    AsCsv,
    AsJson,
    ReleaseArgument,
    ReleaseOption,
    Root,
    check_one_format,
    either,
    open_dataset,
    print_csv,
    print_json,
)
from hwprices.hidden_characters import escaped


def verify(
    version: ReleaseArgument = LATEST,
    version_option: ReleaseOption = "",
    root: Root = "",
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Check a release against its checksums.

    Prints one line for each file that is missing, altered, or not in the manifest, and ends with
    exit status 1 if there is any.

    Example:

        hwprices verify
    """
    check_one_format(as_json, as_csv)
    dataset = open_dataset(root, either(version, version_option))
    faults = dataset.verify()
    count = sum(len(entry["files"]) for entry in dataset.manifest["tables"].values())
    if as_json:
        print_json({"version": dataset.version, "files": count, "faults": faults})
    elif as_csv:
        print_csv(polars.DataFrame({"fault": faults}, schema={"fault": polars.String}))
    else:
        for fault in faults:
            typer.echo(escaped(fault), err=True)
    if faults:
        raise typer.Exit(1)
    if not (as_json or as_csv):
        typer.echo(f"release {dataset.version} is whole: {count} files match their checksums")
