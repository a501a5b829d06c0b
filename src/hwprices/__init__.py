"""What AI and cloud hardware costs: the prices of clouds, traceable to the vendor's line.

    import hwprices
    data = hwprices.open("data")                    # the latest release, lazy
    data.prices.filter(instance_type="p5.48xlarge").collect()

Reading needs neither Prefect nor a vendor's SDK; the pipeline is the extra ``hwprices[pipeline]``.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hwprices.errors import HwpricesError, HwpricesWarning
    from hwprices.read.citation import Citation, Recheck
    from hwprices.read.dataset import Dataset, open
    from hwprices.read.device import device
    from hwprices.read.explain import Explanation
    from hwprices.read.overlays.rules import Overlays
    from hwprices.read.ownership import Ownership
    from hwprices.read.recommend.question import Question
    from hwprices.read.recommend.recommend import recommend
    from hwprices.release.landed import Trace
    from hwprices.release.versions import releases

    __version__: str

__all__ = [
    "Citation",
    "Dataset",
    "Explanation",
    "HwpricesError",
    "HwpricesWarning",
    "Overlays",
    "Ownership",
    "Question",
    "Recheck",
    "Trace",
    "device",
    "open",
    "recommend",
    "releases",
]

_MODULES = {
    "Citation": "hwprices.read.citation",
    "Dataset": "hwprices.read.dataset",
    "Explanation": "hwprices.read.explain",
    "HwpricesError": "hwprices.errors",
    "HwpricesWarning": "hwprices.errors",
    "Overlays": "hwprices.read.overlays.rules",
    "Ownership": "hwprices.read.ownership",
    "Question": "hwprices.read.recommend.question",
    "Recheck": "hwprices.read.citation",
    "Trace": "hwprices.release.landed",
    "device": "hwprices.read.device",
    "open": "hwprices.read.dataset",
    "recommend": "hwprices.read.recommend.recommend",
    "releases": "hwprices.release.versions",
}
"""Public name: module that defines it. Modules are imported when a name is first used, so that the
command line can show its help without importing polars."""


if not TYPE_CHECKING:  # a type checker would accept any name if it saw __getattr__

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used.

        Raises:
            AttributeError: the package has no such name.
        """
        if name == "__version__":
            from importlib.metadata import version

            return version("hwprices")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
