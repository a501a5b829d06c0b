"""Find the dataset that is meant where none is named."""

from pathlib import Path

FOLDER = "data"


def default_root() -> str:
    """Give the folder ``data`` with releases, here or in a parent folder; else ./data."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / FOLDER / "latest.json").is_file():
            return str(folder / FOLDER)
    return FOLDER


def root_option(root: str) -> str:
    """Write what a command needs to ask the same dataset: `` --root s3://…``, or nothing."""
    if "://" not in root and Path(root).absolute() == Path(default_root()).absolute():
        return ""
    return f" --root {root}"
