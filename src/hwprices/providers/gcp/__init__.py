"""Google Cloud: parts from the billing catalog, machine types from Compute Engine.

Prices of machines are composed from both.
"""

from hwprices.providers import About

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
