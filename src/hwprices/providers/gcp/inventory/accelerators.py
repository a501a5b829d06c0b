"""Read the accelerators of a machine type, and describe them as columns of instance_types."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from hwprices.providers.gcp.sheets import Sheets


@dataclass(frozen=True)
class Accelerator:
    """Accelerators of one kind in a machine.

    ``vendor_name`` is the guestAcceleratorType of the Compute API. ``accelerator_id`` is None where
    no spec sheet matches. ``count`` may be a fraction. ``memory_gib`` is that of one device.
    """

    accelerator_id: str | None
    vendor_name: str
    count: Decimal
    memory_gib: float | None

    @property
    def gpu_name(self) -> str:
        """Its name without ``-vws``, which is the same GPU with a virtual workstation license."""
        return self.vendor_name.removesuffix("-vws")


def read_accelerator(
    vendor_name: str, count: Decimal, instance_type: str, sheets: Sheets
) -> Accelerator:
    """Make an Accelerator of the API's name and count, which accelerator_names may correct.

    Raises:
        HwpricesError: two rules of one rank disagree.
    """
    match = sheets.match_accelerator(vendor_name, instance_type)
    if match is None:
        return Accelerator(None, vendor_name, count, None)
    corrected = count if match.count is None else Decimal(str(match.count))
    return Accelerator(match.accelerator_id, vendor_name, corrected, match.memory_gib)


def accelerator_columns(accelerators: Sequence[Accelerator], sheets: Sheets) -> dict[str, Any]:
    """Return accelerators and accelerator_kind of one row of instance_types."""
    if not accelerators:
        return {"accelerators": [], "accelerator_kind": "none"}
    return {
        "accelerators": [{**asdict(a), "count": float(a.count)} for a in accelerators],
        "accelerator_kind": "tpu" if is_tpu(accelerators[0].vendor_name, sheets) else "gpu",
    }


def is_tpu(vendor_name: str, sheets: Sheets) -> bool:
    """Return whether an accelerator is a TPU; the sheet lacks generations that are new."""
    return vendor_name in sheets.tpus or re.fullmatch(r"(?:ct|tpu)\d\w*", vendor_name) is not None
