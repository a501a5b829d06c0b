"""Write numbers and names into sentences."""


def counted(count: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "price"), counted(2_000, "price")
    ('1 price', '2,000 prices')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def why_unknown(reason: str | None) -> str:
    """Return the reason why a price is not known; a dataset of somebody else may have none.

    >>> why_unknown("no_rate"), why_unknown(None)
    ('no_rate', 'no reason given')
    """
    return reason or "no reason given"


def placeholders_left_out(count: int) -> str:
    """Describe how many prices are left out because they are not offers.

    >>> placeholders_left_out(1)
    'Left out: 1 placeholder, too far below other prices for a real offer.'
    """
    return (
        f"Left out: {counted(count, 'placeholder')}, too far below other prices for a real offer."
    )


def plain(amount: object) -> str:
    """Write a number exactly, without the zeros at its end; "" where it is not known.

    >>> from decimal import Decimal
    >>> plain(Decimal("0.0960000000")), plain(730), plain(None)
    ('0.096', '730', '')
    """
    text = f"{amount:f}" if amount is not None else ""
    return text.rstrip("0").rstrip(".") if "." in text else text
