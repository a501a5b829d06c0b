"""Name the one kind of unit, and the two clouds that are RunPod's regions."""

from typing import Final

GPU_TYPES: Final = "gpu_types"
"""All GPU types with their prices."""

CLOUDS: Final = ("secure", "community")
"""Regions of RunPod: its own data centers, and machines of other hosts. Prices have no place."""
