"""Google Cloud: parts from the billing catalog, machine types from Compute Engine.

Prices of machines are composed from both.
"""

from typing import Final

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


SKUS: Final = "skus"  # SKUs of Compute Engine in the Cloud Billing Catalog: the prices

TPU_SKUS: Final = "tpu_skus"
"""SKUs of Cloud TPU: TPU v2 to v4. Newer generations are SKUs of Compute Engine."""

VERTEX_SKUS: Final = "vertex_skus"
"""SKUs of Vertex AI, which include prices of machines for prediction, by the second."""

REGIONS: Final = "regions"
ZONES: Final = "zones"
MACHINE_TYPES: Final = "machine_types"
ACCELERATOR_TYPES: Final = "accelerator_types"

TPU_TYPES: Final = "tpu_types"
"""TPU slices that the Cloud TPU API lists for each location, such as v5litepod-16."""

SKU_KINDS: Final = (SKUS, TPU_SKUS)

PROJECT_KINDS: Final = (REGIONS, ZONES, MACHINE_TYPES, ACCELERATOR_TYPES, TPU_TYPES)
"""Kinds whose API needs a project and application default credentials."""
