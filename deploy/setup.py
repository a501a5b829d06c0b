"""Make what the deployments need: the bucket, the work pool, the deployments and the automations.

Runs once, in compose's service ``setup``; run again it changes nothing but the deployments. The
bucket apart this is ``hwprices admin deploy compose``. The flows write where HWPRICES_ROOT says.
"""

import os
from urllib.parse import urlsplit

from hwprices.flows.deployments import deploy
from hwprices.storage.store import OWN_KEY


def main() -> None:
    """Make everything, in the order in which one thing needs the other."""
    make_bucket(os.environ["HWPRICES_ROOT"])
    deploy("compose")


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


if __name__ == "__main__":
    main()
