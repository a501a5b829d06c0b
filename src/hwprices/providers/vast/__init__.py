"""Vast.ai: a marketplace of GPU hosts, kept as daily quantiles."""

from hwprices.providers import About

ABOUT = About(
    title="Vast.ai",
    without_account="daily quantiles of what hosts ask for a GPU, in the table `market_quantiles`; "
    "no list prices",
    with_credentials="nothing more",
    missing="single offers, interruptible offers, storage and traffic, serverless;"
    " not yet run live",
    price_kinds=(),
)
