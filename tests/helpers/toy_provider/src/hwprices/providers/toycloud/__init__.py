"""Toy Cloud: an invented vendor with two regions, the example of docs/a-provider.md."""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import Endpoint

ABOUT = About(
    title="Toy Cloud",
    without_account="all prices and machines",
    with_credentials="nothing more",
    missing="loyalty prices, which depend on the account",
)


class Settings(settings.Settings):
    """The common settings and those of Toy Cloud."""

    toycloud_url: Endpoint = Field(
        default="https://api.toycloud.example/v1", description="Toy Cloud API."
    )
