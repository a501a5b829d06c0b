"""Oracle Cloud: parts from the public product list, shapes from the cost estimator's list.

Prices of machines are composed from both.
"""

from hwprices.providers import About

ABOUT = About(
    title="Oracle Cloud",
    without_account="all prices of the commercial realm, and the machines they are composed for",
    with_credentials="nothing more",
    missing="where shapes are offered, government and sovereign regions, Windows on bare metal,"
    " most sizes of flexible shapes; no live run is on record",
    price_kinds=("products",),
)
