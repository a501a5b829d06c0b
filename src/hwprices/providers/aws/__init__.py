"""Amazon Web Services: EC2.

Prices come from the Price List bulk files and the savings-plan files, which need no account; specifications, zones, offers by
zone, spot quotes and capacity blocks come from the EC2 API where boto3 finds credentials.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hwprices.landing.pages import Page, Unit
    from hwprices.providers import Context, Pages, Part
    from hwprices.settings import Settings


class Aws:
    """The provider. Its modules are imported when they are used."""

    name = "aws"

    def concurrency(self, settings: "Settings") -> int:
        """The bulk host answers 403 to many requests at once."""
        return settings.aws_concurrency

    def plan(self, context: "Context", regions: Sequence[str] | None) -> "list[Unit]":
        from hwprices.providers.aws.fetch import plan

        return plan(context, regions)

    def fetch(self, context: "Context", unit: "Unit") -> "list[Page]":
        from hwprices.providers.aws.fetch import fetch

        return fetch(context, unit)

    def normalise(self, pages: "Pages") -> "Iterator[Part]":
        from hwprices.providers.aws.normalise import normalise

        return normalise(pages)


PROVIDER = Aws()
