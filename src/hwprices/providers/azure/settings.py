"""Settings of Azure."""

from typing import Annotated

from pydantic import AliasChoices, Field, field_validator
from pydantic_settings import NoDecode

from hwprices import settings
from hwprices.settings import ONLY_WITH, Endpoint


class Settings(settings.Settings):
    """The common settings and those of Azure."""

    azure_retail_url: Endpoint = Field(
        default="https://prices.azure.com/api/retail/prices", description="Azure Retail Prices."
    )
    azure_arm_url: Endpoint = Field(
        default="https://management.azure.com",
        description="Azure Resource Manager.",
        json_schema_extra={ONLY_WITH: "azure_subscription_id"},
    )
    azure_subscription_id: str | None = Field(
        default=None,
        validation_alias=AliasChoices("AZURE_SUBSCRIPTION_ID", "azure_subscription_id"),
        description="Azure subscription whose sizes are listed.",
    )
    azure_currencies: Annotated[tuple[str, ...], NoDecode] = Field(
        default=("USD",), description="Currencies to fetch Azure prices in, comma separated."
    )

    @field_validator("azure_currencies", mode="before")
    @classmethod
    def _split_currencies(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(part.strip().upper() for part in value.split(",") if part.strip())
