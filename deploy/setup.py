"""Make what the deployments need: the bucket, the work pool, the deployments and the automations.

Runs once, in compose's service ``setup``; run again it changes nothing but the deployments, which
are as prefect.yaml says afterwards. The flows write where HWPRICES_ROOT says.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from hwprices.storage.store import OWN_KEY

PREFECT = [sys.executable, "-m", "prefect", "--no-prompt"]


def main() -> None:
    """Make everything, in the order in which one thing needs the other."""
    make_bucket(os.environ["HWPRICES_ROOT"])
    prefect("work-pool", "create", "--type", "process", "--overwrite", "hwprices")
    plan = without_roots(yaml.safe_load(Path("prefect.yaml").read_text()))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prefect.yaml"
        file.write_text(yaml.safe_dump(plan))
        prefect("deploy", "--all", "--prefect-file", str(file))
    make_automations(Path(__file__).parent / "automations.yaml")


def prefect(*arguments: str) -> None:
    """Run Prefect's command; its own message is on the screen if it fails."""
    subprocess.run([*PREFECT, *arguments], check=True)


def make_bucket(root: str) -> None:
    """Make the bucket of an s3:// root with the store's own key, unless there is one."""
    import boto3
    from botocore.exceptions import ClientError

    key_id, secret = (os.environ[name] for name in OWN_KEY)
    client = boto3.client("s3", aws_access_key_id=key_id, aws_secret_access_key=secret)
    try:
        client.create_bucket(Bucket=urlsplit(root).netloc)
    except ClientError as error:
        if error.response["Error"]["Code"] not in {
            "BucketAlreadyOwnedByYou",
            "BucketAlreadyExists",
        }:
            raise


def without_roots(plan: dict[str, Any]) -> dict[str, Any]:
    """Leave the parameter ``root`` out of all deployments, so that HWPRICES_ROOT counts."""
    deployments = [
        {**deployment, "parameters": {k: v for k, v in parameters.items() if k != "root"}}
        for deployment in plan["deployments"]
        for parameters in [deployment.get("parameters", {})]
    ]
    return {**plan, "deployments": deployments}


def make_automations(file: Path) -> None:
    """Make the automations of a file that the server does not have yet, by their names."""
    for automation in yaml.safe_load(file.read_text())["automations"]:
        inspect = [*PREFECT, "automation", "inspect", automation["name"]]
        if subprocess.run(inspect, check=False, capture_output=True).returncode:
            prefect("automation", "create", "--from-json", json.dumps(automation))


if __name__ == "__main__":
    main()
