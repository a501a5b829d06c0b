"""An object store on loopback, which moto serves as S3."""

from collections.abc import Iterator
from contextlib import contextmanager

import boto3
import pytest
from moto.server import ThreadedMotoServer


@contextmanager
def s3(monkeypatch: pytest.MonkeyPatch, bucket: str) -> Iterator[str]:
    """Serve a bucket, name it in the environment of the process, and give the server's address.

    Buckets outlive the server in the process, so each test needs a name of its own.
    """
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    make_bucket(monkeypatch, url, bucket)
    try:
        yield url
    finally:
        server.stop()


def make_bucket(monkeypatch: pytest.MonkeyPatch, url: str, bucket: str) -> None:
    """Make a bucket on a server, and name the server and its credentials in the environment."""
    for variable, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": url,
    }.items():
        monkeypatch.setenv(variable, value)
    boto3.client("s3", endpoint_url=url, region_name="us-east-1").create_bucket(Bucket=bucket)
