"""The deployments of prefect.yaml, without starting Prefect."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

from hwprices.flows import serve


def deployments(project: Path) -> list[Any]:
    return list(yaml.safe_load((project / "prefect.yaml").read_text())["deployments"])


def test_a_checkout_has_the_file_at_its_top(project: Path) -> None:
    assert serve.prefect_file() == project / "prefect.yaml"


def test_every_deployment_names_a_flow_and_its_parameters(project: Path) -> None:
    """Prefect would notice a wrong name only when the schedule starts a run."""
    for deployment in deployments(project):
        package, module, function = deployment["entrypoint"].rsplit(".", 2)
        assert package == "hwprices.flows"
        parameters = parameters_of(project / "flows" / f"{module}.py", function)
        assert set(deployment.get("parameters", {})) <= parameters, deployment["name"]


def test_scheduled_runs_do_not_write_where_the_sample_is(project: Path) -> None:
    for deployment in deployments(project):
        assert deployment["parameters"]["root"] == "data/live", deployment["name"]


@pytest.mark.parametrize("flow", ["refresh", "publish"])
def test_lists_are_named_in_the_plural(project: Path, flow: str) -> None:
    """One spelling: a flow takes providers, regions, kinds; a flag that is repeated names one."""
    parameters = parameters_of(project / "flows" / f"{flow}.py", flow)
    assert parameters <= {"source", "root", "providers", "regions", "kinds", "accept"}


def parameters_of(file: Path, function: str) -> set[str]:
    [definition] = [
        node
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    return {argument.arg for argument in definition.args.args}
