"""Every setting of the pipeline, in one place.

Each is read from the environment (prefix ``HWPRICES_``) or given as a flag; nothing is read at import. Credentials are not
settings: boto3, google-auth and azure-identity find their own, and the one key that is (GCP's API key) is a SecretStr.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hwprices.errors import HwpricesError

CHECKOUT = Path(__file__).resolve().parents[2]

LOOPBACK = {"localhost", "127.0.0.1", "::1"}

OBJECT_STORES = ("s3://", "gs://", "az://")


def is_loopback(url: str) -> bool:
    """Whether the URL's host is this machine."""
    return (urlsplit(url).hostname or "") in LOOPBACK


class Settings(BaseSettings):
    """What a run needs to know. ``Settings()`` reads the environment; ``load(...)`` adds flags and turns errors into one line."""

    model_config = SettingsConfigDict(
        env_prefix="HWPRICES_", populate_by_name=True, extra="ignore", frozen=True
    )

    root: str = Field(
        default=str(CHECKOUT / "data"),
        description="Where everything is kept: a folder or s3://, gs://, az://.",
    )
    source: Literal["sample", "live"] = Field(
        default="sample",
        description="sample: replay the bundled landing directory; live: ask the vendors.",
    )
    sample: str = Field(
        default=str(CHECKOUT / "data" / "sample"), description="The bundled landing directory."
    )

    aws_price_list_url: str = Field(
        default="https://pricing.us-east-1.amazonaws.com", description="AWS Price List bulk host."
    )
    aws_china_price_list_url: str = Field(
        default="https://pricing.cn-north-1.amazonaws.com.cn",
        description="AWS Price List bulk host of the China regions.",
    )
    aws_spot_advisor_url: str = Field(
        default="https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json",
        description="AWS Spot Instance Advisor's data.",
    )
    aws_concurrency: int = Field(
        default=4,
        ge=1,
        le=16,
        description="AWS regions fetched at once; the bulk host answers 403 to many more.",
    )
    gcp_billing_url: str = Field(
        default="https://cloudbilling.googleapis.com", description="GCP Cloud Billing Catalog."
    )
    gcp_compute_url: str = Field(
        default="https://compute.googleapis.com", description="GCP Compute Engine API."
    )
    gcp_tpu_url: str = Field(default="https://tpu.googleapis.com", description="GCP Cloud TPU API.")
    gcp_api_key: SecretStr | None = Field(
        default=None, description="API key for the billing catalog. Never sent over plain http."
    )
    gcp_project: str | None = Field(
        default=None, description="GCP project whose machine types are listed."
    )
    azure_retail_url: str = Field(
        default="https://prices.azure.com/api/retail/prices", description="Azure Retail Prices."
    )
    azure_arm_url: str = Field(
        default="https://management.azure.com", description="Azure Resource Manager."
    )
    azure_subscription_id: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_SUBSCRIPTION_ID", "azure_subscription_id"),
        description="Azure subscription whose sizes are listed.",
    )
    azure_currencies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("USD",), description="Currencies to fetch Azure prices in, comma separated."
    )

    connect_timeout: timedelta = Field(
        default=timedelta(seconds=5),
        gt=timedelta(0),
        description="How long a connection may take, in seconds.",
    )
    read_timeout: timedelta = Field(
        default=timedelta(seconds=30),
        gt=timedelta(0),
        description="How long a server may be silent, in seconds.",
    )
    attempts: int = Field(
        default=4,
        ge=1,
        le=10,
        description="Tries of one page, with back-off, before it counts as failed.",
    )
    max_retry_after: timedelta = Field(
        default=timedelta(seconds=120),
        description="Longest Retry-After that is waited for, in seconds.",
    )
    keep_runs: int = Field(default=3, ge=1, description="Staged runs kept for each provider.")

    @field_validator("azure_currencies", mode="before")
    @classmethod
    def _split_currencies(cls, value: object) -> object:
        return (
            tuple(part.strip().upper() for part in value.split(",") if part.strip())
            if isinstance(value, str)
            else value
        )

    @field_validator("connect_timeout", "read_timeout", "max_retry_after", mode="before")
    @classmethod
    def _seconds(cls, value: object) -> object:
        """From the environment a number is a string; it means seconds."""
        return (
            float(value)
            if isinstance(value, str) and value.replace(".", "", 1).isdigit()
            else value
        )

    @field_validator(
        "aws_price_list_url",
        "aws_china_price_list_url",
        "aws_spot_advisor_url",
        "gcp_billing_url",
        "gcp_compute_url",
        "gcp_tpu_url",
        "azure_retail_url",
        "azure_arm_url",
    )
    @classmethod
    def _endpoint(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.username or parts.password:
            raise ValueError("an endpoint must not carry a user name or password")
        if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(url)):
            return url.rstrip("/")
        raise ValueError(
            f"{url} is not https; plain http is taken only for this machine (127.0.0.1, localhost)"
        )

    @field_validator("root", "sample")
    @classmethod
    def _root(cls, value: str) -> str:
        if "://" in value and not value.startswith((*OBJECT_STORES, "file://")):
            raise ValueError(f"{value} is neither a folder nor one of s3://, gs://, az://")
        if not value.strip():
            raise ValueError("it is empty: give a folder or s3://bucket/prefix")
        return value.removeprefix("file://")


def load(**flags: object) -> Settings:
    """Settings from the environment, with the flags that are given (not None) on top.

    Raises:
        HwpricesError: a value does not fit; the line names the variable and what it takes.
    """
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "setting"
        named = name if name.isupper() else variable(name)
        raise HwpricesError(
            f"{named}: {first['msg'].removeprefix('Value error, ')}",
            "See --help for what each setting takes.",
        ) from None


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return (
        "AZURE_SUBSCRIPTION_ID" if name == "azure_subscription_id" else f"HWPRICES_{name.upper()}"
    )


def described() -> list[tuple[str, str, str]]:
    """Every setting as (variable, default, meaning), for help and documentation."""
    return [
        (variable(name), _shown(field.default), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def _shown(default: object) -> str:
    if default is None:
        return ""
    if isinstance(default, tuple):
        return ",".join(default)
    if isinstance(default, timedelta):
        return str(int(default.total_seconds()))
    return str(default).replace(f"{CHECKOUT}/", "")
