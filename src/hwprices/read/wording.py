"""Write numbers and names into sentences."""


def counted(count: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "price"), counted(2_000, "price")
    ('1 price', '2,000 prices')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"
