"""Google Cloud: parts from the billing catalog, machine types from Compute Engine.

Prices of machines are composed from both.
"""

from pydantic import Field, SecretStr

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import ONLY_WITH, Endpoint

ABOUT = About(
    title="Google Cloud",
    without_account="with an API key (`HWPRICES_GCP_API_KEY`): all prices, "
    "machines from the bundled table",
    with_credentials="`HWPRICES_GCP_PROJECT` and application default credentials: "
    "live machine types and zones",
    missing="prices of Cloud Storage and transfer, discounts of single accounts, "
    "Ubuntu Pro, SQL Server on Linux, training on Vertex AI, GPUs of Cloud Run (not machines), "
    "the network of C4N, M4N, A3 Edge and TPU, the speed of disks; no live run is on record",
    price_kinds=("skus", "tpu_skus", "vertex_skus"),
)


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
