"""The files of deploy/, each read by its own tool where that needs no running engine."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tests.helpers import processes
from tests.helpers.nightly import only_at_night
from tests.helpers.stub_server import Reply

from hwprices import providers
from hwprices.providers import gcp
from hwprices.settings import load_as
from hwprices.storage import store

PINNED = re.compile(r"[^:]+:(RELEASE\.)?\d[\w.-]*$")
OWN_IMAGE = "hwprices"


@pytest.fixture
def folder(project: Path) -> Path:
    return project / "deploy"


@pytest.fixture
def compose(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((folder / "compose.yaml").read_text())
    return loaded


@pytest.fixture
def setup(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("setup", folder / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def settings_variables() -> set[str]:
    from hwprices.settings import variable

    classes = {providers.get(name).settings_class for name in providers.names()}
    return {variable(model, name) for model in classes for name in model.model_fields}


def test_compose_takes_the_file(folder: Path) -> None:
    """The schema is that of Compose; check-jsonschema brings it along."""
    module = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    file = str(folder / "compose.yaml")
    processes.run(*module, file)


def test_what_a_service_needs_is_in_the_compose_file(compose: dict[str, Any], folder: Path) -> None:
    """A schema cannot tell: services waited for, their health checks, volumes, mounted files."""
    services = compose["services"]
    for name, service in services.items():
        for needed, wait in service.get("depends_on", {}).items():
            if wait["condition"] == "service_healthy":
                assert "healthcheck" in services[needed], (name, needed)
            else:
                assert services[needed]["restart"] == "no", (name, needed)
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            exists = (folder / source).exists() if "/" in source else source in compose["volumes"]
            assert exists, (name, volume)


def test_images_of_others_are_pinned(compose: dict[str, Any]) -> None:
    images = {service["image"] for service in compose["services"].values()}
    assert {image for image in images - {OWN_IMAGE} if not PINNED.search(image)} == set()


def test_prefect_is_the_locked_release(compose: dict[str, Any], project: Path) -> None:
    locked = re.search(r'name = "prefect"\nversion = "([\d.]+)"', (project / "uv.lock").read_text())
    assert locked is not None
    for text in (
        compose["services"]["prefect"]["image"],
        (project / "deploy/kubernetes/worker.yaml").read_text(),
    ):
        assert f"prefecthq/prefect:{locked[1]}-" in text


@pytest.mark.parametrize("file", ["compose.yaml", "ecs/worker.yaml", "kubernetes/worker.yaml"])
def test_every_variable_is_a_setting(file: str, folder: Path) -> None:
    names = set(re.findall(r"\bHWPRICES_[A-Z_]+\b", (folder / file).read_text()))
    assert names
    assert names <= settings_variables() | set(store.OWN_KEY)


def test_every_password_has_to_be_given(compose: dict[str, Any], folder: Path) -> None:
    given = dict(re.findall(r"^(\w+)=(.*)$", (folder / "example.env").read_text(), re.MULTILINE))
    used = re.findall(r"\$\{(\w+):([?-])", (folder / "compose.yaml").read_text())
    assert {name for name, _ in used} == set(given)
    required = {"POSTGRES_PASSWORD", "STORE_PASSWORD", "PREFECT_API_AUTH_STRING"}
    assert {name for name, mark in used if mark == "?"} == required


def test_every_set_up_passes_prefects_login_and_no_file_holds_one(folder, compose) -> None:
    """From the environment or a Secret of the operator's, which no manifest overwrites."""
    worker = compose["services"]["worker"]["environment"]
    server = compose["services"]["prefect"]["environment"]
    login = worker["PREFECT_API_AUTH_STRING"]
    assert login.startswith("${PREFECT_API_AUTH_STRING:?")
    assert server["PREFECT_SERVER_API_AUTH_STRING"] == login

    manifests = list(yaml.safe_load_all((folder / "kubernetes/worker.yaml").read_text()))
    assert "Secret" not in {manifest["kind"] for manifest in manifests}
    by_kind = {manifest["kind"]: manifest for manifest in manifests}
    [container] = by_kind["Deployment"]["spec"]["template"]["spec"]["containers"]
    secret = {"secretRef": {"name": "hwprices", "optional": True}}
    assert secret in container["envFrom"]
    template = json.loads((folder / "kubernetes/job-template.json").read_text())
    pod = template["job_configuration"]["job_manifest"]["spec"]["template"]["spec"]
    assert secret in pod["containers"][0]["envFrom"]

    for unit in ("server", "worker"):
        text = (folder / f"systemd/hwprices-{unit}.service").read_text()
        assert "\nEnvironmentFile=-/etc/hwprices.env\n" in text
    ecs = (folder / "ecs/worker.yaml").read_text()
    secrets = re.findall(
        r"^  (\w+Secret):\n    Type: String\n    Default: \"\"$", ecs, re.MULTILINE
    )
    assert secrets == ["GcpApiKeySecret", "PrefectApiKeySecret", "PrefectAuthStringSecret"]
    assert set(re.findall(r"Name: (PREFECT_API_(?:KEY|AUTH_STRING)),", ecs)) == {
        "PREFECT_API_KEY",
        "PREFECT_API_AUTH_STRING",
    }


def test_the_accounts_are_the_operators_and_the_stores_key_is_not_among_them(compose, folder):
    """A name without a value is taken from deploy/.env, or not set at all."""
    environment = compose["services"]["worker"]["environment"]
    accounts = {name for name, value in environment.items() if value is None}
    examples = re.findall(r"^# (\w+)=$", (folder / "example.env").read_text(), re.MULTILINE)
    assert accounts == set(examples)
    assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AZURE_SUBSCRIPTION_ID"} <= accounts
    assert all(environment[name] for name in store.OWN_KEY)


def test_nothing_is_reachable_from_other_machines(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_kubernetes_takes_the_manifests(folder: Path) -> None:
    manifests = list(yaml.safe_load_all((folder / "kubernetes/worker.yaml").read_text()))
    assert {manifest["kind"] for manifest in manifests} >= {"Deployment", "Role", "ConfigMap"}
    for manifest in manifests:
        kubernetes_validate.validate(manifest, "1.33", strict=True)


def test_the_worker_watches_the_namespace_of_its_role(folder: Path) -> None:
    """prefect-kubernetes reads the variable; without it, it watches the cluster and is refused."""
    manifests = list(yaml.safe_load_all((folder / "kubernetes/worker.yaml").read_text()))
    by_kind = {manifest["kind"]: manifest for manifest in manifests}
    watched = by_kind["ConfigMap"]["data"]["PREFECT_INTEGRATIONS_KUBERNETES_OBSERVER_NAMESPACES"]
    assert watched == by_kind["Role"]["metadata"]["namespace"]


def test_kubernetes_takes_the_job_that_a_run_becomes(folder: Path) -> None:
    template = json.loads((folder / "kubernetes/job-template.json").read_text())
    job = json.dumps(template["job_configuration"]["job_manifest"])
    values = {"labels": {"a": "b"}, "finished_job_ttl": 1, "command": ["a"], "env": []}
    for name in template["variables"]["properties"]:
        job = job.replace(f'"{{{{ {name} }}}}"', json.dumps(values.get(name, "x")))
    filled = json.loads(job.replace("{{ name }}", "x"))
    assert (filled["kind"], filled["spec"]["template"]["spec"]["restartPolicy"]) == ("Job", "Never")
    kubernetes_validate.validate(filled, "1.33", strict=True)


def test_the_ecs_role_has_the_least_rights_of_the_docs(project: Path) -> None:
    documented = json.loads((project / "docs/aws-iam-policy.json").read_text())
    actions = documented["Statement"][0]["Action"]
    template = (project / "deploy/ecs/worker.yaml").read_text()
    assert set(re.findall(r"ec2:\w+", template)) == set(actions)


def test_the_google_role_has_a_right_for_each_list_and_no_other(project: Path) -> None:
    """Google names a right after the list: machine_types is compute.machineTypes.list."""
    role = yaml.safe_load((project / "docs/gcp-role.yaml").read_text())
    lists = {kind.replace("_", "") for kind in gcp.PROJECT_KINDS if kind != gcp.TPU_TYPES}
    needed = {f"compute.{name}.list" for name in lists}
    needed |= {"tpu.acceleratortypes.list", "tpu.locations.list"}
    assert {right.lower() for right in role["includedPermissions"]} == needed


def test_the_azure_role_reads_what_is_landed_and_nothing_else(project: Path) -> None:
    role = json.loads((project / "docs/azure-role.json").read_text())
    assert role["Actions"] == [
        "Microsoft.Compute/skus/read",
        "Microsoft.Resources/subscriptions/locations/read",
    ]
    code = (project / "src/hwprices/providers/azure/resource_manager.py").read_text()
    landed = re.findall(r'_land\(context, unit, .*"([\w./]+)"\)', code)
    assert landed == ["providers/Microsoft.Compute/skus", "locations"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_units(folder: Path, tmp_path: Path) -> None:
    units = []
    for unit in sorted((folder / "systemd").iterdir()):
        # the programs are not installed here: the tool would say so and nothing else
        text = re.sub(r"/opt/hwprices/bin/\w+", "/bin/true", unit.read_text())
        units.append(tmp_path / unit.name)
        units[-1].write_text(text)
    done = processes.run("systemd-analyze", "verify", *units)
    assert str(tmp_path) not in done.stderr


def test_the_bucket_is_made_with_the_key_of_the_store(setup, stub, monkeypatch) -> None:
    server = stub().on("/*", Reply(b""))
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAACCOUNT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-account")
    key_id, secret_key = store.OWN_KEY
    monkeypatch.setenv(key_id, "hwprices")
    monkeypatch.setenv(secret_key, "secret-of-the-store")
    setup.make_bucket("s3://hwprices/dataset")
    [request] = server.requests
    assert (request.method, request.path) == ("PUT", "/hwprices")
    assert "Credential=hwprices/" in request.headers["Authorization"]


def test_the_example_root_is_a_root(compose: dict[str, Any]) -> None:
    from hwprices.settings import Settings

    root = compose["services"]["worker"]["environment"]["HWPRICES_ROOT"]
    assert load_as(Settings, root=root).root == "s3://hwprices/dataset"


@only_at_night("cfn-lint takes 7 s of CPU")
def test_cloudformation_takes_the_template(folder: Path) -> None:
    template = folder / "ecs/worker.yaml"
    command = [str(Path(sys.executable).parent / "cfn-lint"), str(template)]
    processes.run(*command)


def test_every_set_up_waits_for_a_worker_to_end_its_flows(folder, compose) -> None:
    """Else it is killed before they have said that they crashed."""
    from hwprices.flows.prefect_server import COMMAND_STOP_SECONDS, WORKER_SECONDS

    service = compose["services"]["worker"]
    unit = (folder / "systemd/hwprices-worker.service").read_text()
    template = (folder / "ecs/worker.yaml").read_text()
    command = {
        "compose": " ".join(service["command"]),
        "systemd": found(r"ExecStart=/opt/hwprices/bin/(.+)", unit),
        "ecs": found(r"Command: \[(.+)\]", template).replace(",", ""),
    }
    assert set(command.values()) == {"hwprices admin worker"}
    assert "\nKillMode=mixed\n" in unit  # SIGTERM to the command alone: it ends its flows first
    waits = (
        service["stop_grace_period"].removesuffix("s"),
        found(r"TimeoutStopSec=(\d+)", unit),
        found(r"StopTimeout: (\d+)", template),
    )
    assert all(int(seconds) > COMMAND_STOP_SECONDS + WORKER_SECONDS for seconds in waits)


def found(pattern: str, text: str) -> str:
    [match] = re.findall(pattern, text)
    return str(match)
