"""Settings of AWS."""

from pydantic import Field

from hwprices import settings
from hwprices.settings import Endpoint


class Settings(settings.Settings):
    """The common settings and those of AWS."""

    aws_price_list_url: Endpoint = Field(
        default="https://pricing.us-east-1.amazonaws.com", description="AWS Price List bulk host."
    )
    aws_china_price_list_url: Endpoint = Field(
        default="https://pricing.cn-north-1.amazonaws.com.cn",
        description="AWS Price List bulk host of the China regions.",
    )
    aws_spot_advisor_url: Endpoint = Field(
        default="https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json",
        description="AWS Spot Instance Advisor's data.",
    )
    aws_concurrency: int = Field(
        default=4,
        ge=1,
        le=16,
        description="AWS regions fetched at once; the bulk host answers 403 to many more.",
    )
