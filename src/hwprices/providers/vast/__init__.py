"""Vast.ai: a marketplace of GPU hosts, of which only quantiles of a day are kept."""

from hwprices.providers import About

ABOUT = About(
    title="Vast.ai",
    without_account="no prices: quantiles of a day of what hosts ask for a GPU, in a table of their"
    " own (`market_quantiles`)",
    with_credentials="nothing more",
    missing="single offers, interruptible offers, storage and traffic, serverless;"
    " not yet run live",
    price_kinds=(),
)
