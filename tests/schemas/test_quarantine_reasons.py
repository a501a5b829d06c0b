"""Every reason that the program can give for refusing a row is declared: the code is walked."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hwprices.schemas.vocabulary import QUARANTINE_REASONS

CODE = re.compile(r"[a-z]+(?:_[a-z]+)*")
"""Reasons are such words; the reason of a failed unit is a sentence, and of an exception a text."""

REASON_COLUMNS = {"reason", "refused", "fault"}
"""What the columns, fields and arguments are called that end up as the reason of a row."""

NAMES_COLUMNS = {
    *("col", "coalesce", "filter", "when", "concat_list", "join", "drop", "get"),
    *("select", "sort", "scan"),
}
"""Functions whose texts are names of columns or tables or conditions, and not values."""

VALUES_OR_COLUMNS = {"then", "otherwise"}
"""Functions that take a text for the name of a column, and an expression for a value."""

REFUSING = re.compile(r"fault|refusal")
"""What functions that return a reason, or rules with reasons, have in their names."""

COUNTED_NAMES = {"NotAMachinePrice", "_scope_rules", "_scope_rules_of_names"}
"""Classes and functions whose reasons are those of rows left out on purpose."""


def sources(project: Path) -> dict[str, list[ast.Module]]:
    """The parsed modules of each provider's folder, and of what they share."""
    folder = project / "src" / "hwprices"
    parsed: dict[str, list[ast.Module]] = {}
    for room in ("providers", "rows", "stage"):
        for file in sorted((folder / room).rglob("*.py")):
            parts = file.relative_to(folder).parts
            name = parts[1] if room == "providers" and len(parts) > 2 else "shared"
            parsed.setdefault(name, []).append(ast.parse(file.read_text(encoding="utf-8")))
    return parsed


def reason_positions(modules: list[ast.Module]) -> dict[str, int]:
    """Callables with a parameter or field for the reason, and its position in a call."""
    found = {}
    for node in (node for module in modules for node in ast.walk(module)):
        names: list[str] = []
        if isinstance(node, ast.FunctionDef):
            names = [arg.arg for arg in node.args.args if arg.arg != "self"]
        elif isinstance(node, ast.ClassDef):
            fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            inits = [each for each in node.body if getattr(each, "name", "") == "__init__"]
            names = [each.target.id for each in fields if isinstance(each.target, ast.Name)]
            for init in inits:
                names = [arg.arg for arg in init.args.args if arg.arg != "self"]
        for name in REASON_COLUMNS & set(names):
            if node.name not in COUNTED_NAMES:
                found[node.name] = names.index(name)
    return found


def codes_in(node: ast.AST) -> Iterator[str]:
    """Codes among the values of an expression: names of columns are arguments of pl.col."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", "")
        if name not in NAMES_COLUMNS:
            is_column = [
                name in VALUES_OR_COLUMNS and isinstance(a, ast.Constant) for a in node.args
            ]
            values = [a for a, named in zip(node.args, is_column, strict=True) if not named]
            for each in (node.func, *values):
                yield from codes_in(each)
        return
    if isinstance(node, (ast.Compare, ast.JoinedStr, ast.Subscript)):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if CODE.fullmatch(node.value):
            yield node.value
        return
    for child in ast.iter_child_nodes(node):
        yield from codes_in(child)


def reasons_in(module: ast.Module, positions: dict[str, int]) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name == "alias" and getattr(node.args[0], "value", "") in REASON_COLUMNS:
                yield from codes_in(node.func.value)
            if name in positions:
                yield from (c for arg in node.args[positions[name] :][:1] for c in codes_in(arg))
            if name not in COUNTED_NAMES:
                for keyword in node.keywords:
                    if keyword.arg in REASON_COLUMNS:
                        yield from codes_in(keyword.value)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in REASON_COLUMNS:
                    yield from codes_in(value)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(getattr(target, "id", "") in REASON_COLUMNS for target in targets):
                yield from codes_in(node.value)
        elif isinstance(node, ast.FunctionDef) and REFUSING.search(node.name):
            for each in ast.walk(node):
                if isinstance(each, ast.Return) and each.value:
                    yield from codes_in(each.value)


def walked(project: Path) -> set[str]:
    modules = sources(project)
    shared = reason_positions(modules["shared"])
    found = set()
    for own in modules.values():
        positions = shared | reason_positions(own)
        found |= {code for module in own for code in reasons_in(module, positions)}
    return found


def test_every_reason_in_the_code_is_declared(project):
    found = walked(project)
    pattern = re.compile(QUARANTINE_REASONS.regex())
    assert sorted(code for code in found if not pattern.match(code)) == []
