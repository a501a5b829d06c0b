"""Settings of Oracle Cloud."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


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
