"""List the components that Google sells and that machines are made of.

A component id is written as text in frames and published tables, and is a ``ComponentId`` in code:

====================== ========= ============== =========
text                   kind      name           variant
====================== ========= ============== =========
core                   core
ram_extended           ram                      extended
premium_core           premium   core
gpu:nvidia-l4          gpu       nvidia-l4
slice:nvidia-b200      slice     nvidia-b200
tpu:v3-pod             tpu       v3             pod
local_ssd              local_ssd
instance               instance
license:windows        license   windows
license:sles:f1-micro  license   sles           f1-micro
====================== ========= ============== =========
"""

from dataclasses import dataclass
from typing import Final, Self

import msgspec


@dataclass(frozen=True, slots=True)
class _Spelling:
    """How the ids of one kind are written: what stands before the name and before the variant."""

    before_name: str = ""
    before_variant: str = ""
    variants: tuple[str, ...] = ()


_CUSTOM = _Spelling(before_variant="_", variants=("custom", "extended"))

SPELLINGS: Final[dict[str, _Spelling]] = {
    "core": _CUSTOM,
    "ram": _CUSTOM,
    "premium": _Spelling(before_name="_"),
    "gpu": _Spelling(before_name=":"),
    "slice": _Spelling(before_name=":", before_variant="-", variants=("eighth",)),
    "tpu": _Spelling(before_name=":", before_variant="-", variants=("pod",)),
    "local_ssd": _Spelling(),
    "instance": _Spelling(),
    "license": _Spelling(before_name=":", before_variant=":", variants=("f1-micro", "g1-small")),
}
"""Every kind of component."""


class ComponentId(msgspec.Struct, frozen=True, gc=False):
    """One component.

    ``kind`` is a key of ``SPELLINGS``. ``name`` is the Compute API's name of a GPU, the generation
    of a TPU, the operating system of a license, or core and ram for M2's premium. ``variant`` tells
    custom and extended cores and memory, an eighth of a GPU, a TPU pod, and the license of one
    shared-core machine from the plain component.
    """

    kind: str
    name: str = ""
    variant: str = ""

    def __str__(self) -> str:
        """Return the text that tables and frames hold."""
        spelling = SPELLINGS[self.kind]
        name = self.name and f"{spelling.before_name}{self.name}"
        variant = self.variant and f"{spelling.before_variant}{self.variant}"
        return f"{self.kind}{name}{variant}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of ``__str__`` back.

        Raises:
            ValueError: it is not the text of a component id.
        """
        for kind, spelling in SPELLINGS.items():
            if not text.startswith(kind):
                continue
            rest, variant = text.removeprefix(kind), ""
            for candidate in spelling.variants:
                if rest.endswith(f"{spelling.before_variant}{candidate}"):
                    rest = rest.removesuffix(f"{spelling.before_variant}{candidate}")
                    variant = candidate
            component = cls(kind, rest.removeprefix(spelling.before_name), variant)
            if str(component) == text and bool(component.name) == bool(spelling.before_name):
                return component
        raise ValueError(f"{text!r} is not a component id")

    @property
    def line(self) -> str:
        """The component's name in the lines of one price (``price_components.component``).

        A machine has one line of each kind, except that M2 pays its premium on cores and on memory.
        """
        return "premium_2" if self.kind == "premium" and self.name == "ram" else self.kind
