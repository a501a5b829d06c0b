"""Name the kinds of units: there is one."""

from typing import Final

CATALOG: Final = "catalog"
"""The order catalog of Public Cloud: every plan with its price and its machine."""

BUNDLED: Final = "bundled"
"""Value of a page's parameter ``source`` where its machines were collected by hand."""
