"""Build the project's sdist and wheel, and install the wheel outside the checkout."""

import shutil
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import processes


@dataclass(frozen=True)
class Built:
    """The files that a release on a package index would consist of."""

    sdist: Path
    wheel: Path


def build(project: Path, folder: Path) -> Built:
    """Build the sdist, and the wheel from the sdist. Needs no network."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, project]
    processes.run(*command)
    return Built(next(folder.glob("*.tar.gz")), next(folder.glob("*.whl")))


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel in a new virtual environment; return the folder of its commands.

    The dependencies are those of the running interpreter, named in a .pth file. The .pth file of
    the checkout's own editable install is not followed from there, so ``hwprices`` can only come
    from the wheel.
    """
    venv.create(folder, symlinks=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    scripts = Path(sysconfig.get_path("scripts", "venv", paths))
    packages = Path(sysconfig.get_path("purelib", "venv", paths))
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    python = scripts / "python"
    if uv := find_uv():
        command = [uv, "pip", "install", "--quiet", "--offline", "--python", python]
    else:
        command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index"]
    processes.run(*command, "--no-deps", wheel)
    return scripts


def find_uv() -> str | None:
    """Find uv on the PATH, or beside the running interpreter, where the Makefile puts it."""
    return shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent)
