"""Ask EC2 which of a run's calls the account may make.

EC2's DryRun answers that without making the call:
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceTypes.html.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hwprices.providers import Check, Context
from hwprices.providers.aws import kinds
from hwprices.providers.aws.api import ec2

POLICY = "Allow what docs/aws-iam-policy.json lists."

ADDS = {
    kinds.REGIONS: "which regions the account has enabled",
    kinds.ZONES: "zones and their ids",
    kinds.INSTANCE_TYPES: "exact specs of every type",
    kinds.OFFERINGS: "which zone has which type",
    kinds.SPOT: "live spot prices",
}
"""What each call of ``ec2.OPERATIONS`` adds to the dataset."""

CAPACITY_BLOCK: Mapping[str, Any] = {
    "InstanceType": "p5.48xlarge",
    "InstanceCount": 1,
    "CapacityDurationHours": ec2.BLOCK_HOURS,
}
"""An offering to ask for: DryRun checks the parameters before the rights."""


def check_access(context: Context) -> Iterator[Check]:
    """Check the credentials, and the right to each call in boto3's region.

    Raises:
        FetchError: boto3's configuration cannot be used.
    """
    source = ec2.credential_source()
    if source is None:
        yield Check(
            "credentials",
            "absent",
            f"boto3 finds none; missing without them: {', '.join(ADDS.values())}, capacity blocks",
            "Give boto3 a role, a profile or AWS_ACCESS_KEY_ID; docs/aws-iam-policy.json has the"
            " least rights.",
        )
        return
    yield Check("credentials", "ok", f"boto3 finds them by its method {source}")
    with ec2.Ec2Client(context, ec2.home_region()) as client:
        for kind, operation in ec2.OPERATIONS.items():
            yield _check_right(client, operation.name, operation.parameters, ADDS[kind])
        yield _check_right(
            client, "describe_capacity_block_offerings", CAPACITY_BLOCK, "capacity blocks"
        )


def _check_right(
    client: ec2.Ec2Client, operation: str, parameters: Mapping[str, Any], adds: str
) -> Check:
    problem = client.dry_run(operation, **parameters)
    if not problem:
        return Check(operation, "ok", f"adds {adds}")
    return Check(operation, "absent", f"{problem}; missing without it: {adds}", POLICY)
