"""Find the dataset that is meant where none, or the built-in one, is named."""

from pathlib import Path
from shlex import quote

from hwprices.errors import HwpricesError

FOLDER = "data"
SAMPLE = "sample"  # Names the release that comes with the program: ``hwprices.open("sample")``


def default_root() -> str:
    """Return the folder ``data`` with releases, here or in a parent folder; else ./data."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / FOLDER / "latest.json").is_file():
            return str(folder / FOLDER)
    return FOLDER


def sample_root() -> str:
    """Return the folder of the release that comes with the program."""
    folder = _sample_folder()
    if not (folder / "latest.json").is_file():
        raise HwpricesError("this installation has no sample release", "Reinstall hwprices.")
    return str(folder)


def is_sample(root: str) -> bool:
    """Return whether a root is that of the release that comes with the program."""
    return "://" not in root and Path(root).resolve() == _sample_folder().resolve()


def _sample_folder() -> Path:
    from hwprices.specs import data_directory

    return data_directory() / "demo"


def resolve(root: str) -> str:
    """Replace the name of the built-in release by its place; other roots stay as they are."""
    return sample_root() if root == SAMPLE and not Path(SAMPLE).exists() else root


def root_option(root: str) -> str:
    """Write what a command needs to ask the same dataset: `` --root s3://…``, or nothing."""
    if "://" not in root:
        if Path(root).absolute() == Path(default_root()).absolute():
            return ""
        if Path(root).parent.name == FOLDER and Path(root).name == "demo":
            return f" --root {SAMPLE}"
    return f" --root {quote(root)}"
