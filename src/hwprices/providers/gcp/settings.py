"""Settings of Google Cloud."""

from pydantic import Field, SecretStr

from hwprices import settings
from hwprices.settings import ONLY_WITH, Endpoint


class Settings(settings.Settings):
    """The common settings and those of Google Cloud."""

    gcp_billing_url: Endpoint = Field(
        default="https://cloudbilling.googleapis.com", description="GCP Cloud Billing Catalog."
    )
    gcp_compute_url: Endpoint = Field(
        default="https://compute.googleapis.com",
        description="GCP Compute Engine API.",
        json_schema_extra={ONLY_WITH: "gcp_project"},
    )
    gcp_tpu_url: Endpoint = Field(
        default="https://tpu.googleapis.com",
        description="GCP Cloud TPU API.",
        json_schema_extra={ONLY_WITH: "gcp_project"},
    )
    gcp_api_key: SecretStr | None = Field(
        default=None, description="API key for the billing catalog. Never sent over plain http."
    )
    gcp_project: str | None = Field(
        default=None, description="GCP project whose machine types are listed."
    )
