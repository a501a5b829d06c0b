"""RunPod: GPUs by the hour, from its own data centers (secure) and from hosts (community)."""

from hwprices.providers import About

ABOUT = About(
    title="RunPod",
    without_account="prices and stock of all GPU types in both clouds",
    with_credentials="nothing more",
    price_kinds=("gpu_types",),
    missing="vCPUs and memory, serverless (on a web page only), clusters, savings plans, storage;"
    " no live run is on record, and stock was built from documented fields",
)
