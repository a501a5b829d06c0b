"""Toy Cloud: an invented vendor with two regions, the example of docs/a-provider.md."""

from hwprices.providers import About

ABOUT = About(
    title="Toy Cloud",
    without_account="all prices and machines",
    with_credentials="nothing more",
    missing="loyalty prices, which depend on the account",
)
