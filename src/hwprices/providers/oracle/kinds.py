"""Name the kinds of units: one for each public file."""

from typing import Final

PRODUCTS: Final = "products"
"""The product list: the price of every part, such as one OCPU of E5 or one H100."""

SHAPES: Final = "shapes"
"""The cost estimator's shapes: the parts that each machine is made of."""

BUNDLED: Final = "bundled"
"""Value of a page's parameter ``source`` where its machines were collected by hand."""

CURRENCY: Final = "USD"
"""What prices are asked for in. Without it the list has several currencies."""
