"""Oracle Cloud: parts from the public product list, shapes from the cost estimator's list.

Prices of machines are composed from both.
"""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import Endpoint

ABOUT = About(
    title="Oracle Cloud",
    without_account="all prices of the commercial realm, and the machines they are composed for",
    with_credentials="nothing more",
    missing="where shapes are offered, government and sovereign regions, Windows on bare metal,"
    " most sizes of flexible shapes; no live run is on record",
    price_kinds=("products",),
)


class Settings(settings.Settings):
    """The common settings and those of Oracle Cloud."""

    oracle_prices_url: Endpoint = Field(
        default="https://apexapps.oracle.com/pls/apex/cetools/api/v1",
        description="API with Oracle's public product list.",
    )
    oracle_shapes_url: Endpoint = Field(
        default="https://www.oracle.com/a/ocom/docs/cloudestimator2/data/shapes.json",
        description="Shapes of Oracle's cost estimator.",
    )
