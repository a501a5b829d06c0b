"""List the kinds of units: one kind for each list that Google's APIs give."""

from typing import Final

SKUS: Final = "skus"  # SKUs of Compute Engine in the Cloud Billing Catalog: the prices

TPU_SKUS: Final = "tpu_skus"
"""SKUs of Cloud TPU: TPU v2 to v4. Newer generations are SKUs of Compute Engine."""

VERTEX_SKUS: Final = "vertex_skus"
"""SKUs of Vertex AI, of which those of prediction price machines by the second."""

REGIONS: Final = "regions"
ZONES: Final = "zones"
MACHINE_TYPES: Final = "machine_types"
ACCELERATOR_TYPES: Final = "accelerator_types"

TPU_TYPES: Final = "tpu_types"
"""TPU slices that the Cloud TPU API lists for each location, such as v5litepod-16."""

SKU_KINDS: Final = (SKUS, TPU_SKUS)

PROJECT_KINDS: Final = (REGIONS, ZONES, MACHINE_TYPES, ACCELERATOR_TYPES, TPU_TYPES)
"""Kinds whose API needs a project and application default credentials."""
