"""The files that a new provider brings, by their place in the tree. See docs/a-provider.md."""

from pathlib import Path

FOLDER = Path(__file__).parent

OWN_FILES = {"__init__.py", "ruff.toml"}
"""What belongs to this folder and not to the toy provider."""


def files() -> list[str]:
    """List the toy provider's files, such as ``data/specs/accelerator_names/toycloud.csv``."""
    paths = (path.relative_to(FOLDER) for path in FOLDER.rglob("*") if path.is_file())
    names = (path.as_posix() for path in paths if not is_cache(path))
    return sorted(name for name in names if name not in OWN_FILES)


def is_cache(path: Path) -> bool:
    """Say whether a tool wrote this file."""
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)
