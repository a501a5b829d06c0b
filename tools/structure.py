"""Measure how easy the code is to enter: ``python -m tools.structure [CHECKOUT]``.

Prints one line a figure: files at the top of the package, its direct children (folders and files)
and the imports between them, lengths of lines and functions. docs/decisions.md keeps the figures of
the large moves. Imports between children are counted as pairs, of which one imports the other.
"""

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import grimp

CODE_FOLDERS = ("src/hwprices", "flows", "schemas")


def main(checkout: Path) -> None:
    """Print the figures of a checkout."""
    for name, figure in measure(checkout).items():
        print(f"{name:<44} {figure}")


def measure(checkout: Path) -> dict[str, str]:
    """Measure a checkout: figure's name to its value, as text."""
    files = python_files(checkout)
    lines = [line for file in files for line in file.read_text().split("\n")]
    functions = function_lengths(files)
    imports = child_imports(checkout)
    top = [p for p in (checkout / "src/hwprices").iterdir() if p.is_file()]
    return {
        "files at the top of src/hwprices": str(len(top)),
        "direct children of the package": str(len({child for pair in imports for child in pair})),
        "imports between them": str(len(imports)),
        "pairs that import each other": str(sum((b, a) in imports for a, b in imports) // 2),
        "lines of code": f"{len(lines):,}",
        "longest line": str(max(map(len, lines))),
        "lines over 100 columns": str(sum(len(line) > 100 for line in lines)),
        "functions": f"{len(functions):,}",
        "lines of a function, median": f"{statistics.median(functions):.0f}",
        "lines of a function, longest": str(max(functions)),
    }


def python_files(checkout: Path) -> list[Path]:
    """List the tracked Python files of the package, the flows and the schemas."""
    command = ["git", "ls-files", *(f"{folder}/*.py" for folder in CODE_FOLDERS)]
    listed = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    files = [checkout / name for name in listed.stdout.split()]
    return [file for file in files if file.is_file()]


def function_lengths(files: list[Path]) -> list[int]:
    """Count the lines of every function and method, decorators left out."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    return [(n.end_lineno or n.lineno) - n.lineno + 1 for n in nodes if isinstance(n, kinds)]


def child_imports(checkout: Path) -> set[tuple[str, str]]:
    """Find which child of the package imports which: pairs (importer, imported)."""
    sys.path[:0] = [str(checkout / "src"), str(checkout)]
    packages = ["hwprices"] if (checkout / "src/hwprices/flows").exists() else ["hwprices", "flows"]
    graph = grimp.build_graph(*packages, cache_dir=None)
    pairs = {
        (child(importer), child(imported))
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
    }
    return {(a, b) for a, b in pairs if a != b and a and b}


def child(module: str) -> str:
    """Name the child of the package that a module is in; "" for the package itself."""
    parts = module.split(".")
    return parts[0] if parts[0] == "flows" else "".join(parts[1:2])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
