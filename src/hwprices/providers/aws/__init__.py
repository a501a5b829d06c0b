"""Amazon Web Services: EC2, and what is billed beside its machines.

Prices come from the Price List bulk files and the savings-plan files, which need no account.
Specifications, zones, offers by zone, spot prices and capacity blocks come from the EC2 API, where
boto3 finds credentials.
"""

from pydantic import Field

from hwprices import settings
from hwprices.providers import About
from hwprices.settings import Endpoint

ABOUT = About(
    title="AWS",
    without_account="all list prices, savings plans, disks, gateways, data transfer, "
    "specs as the price list states them, spot interruption bands",
    with_credentials="exact specs, zones, live spot, capacity blocks",
    missing="storage that is not of machines, databases and other services but SageMaker, "
    "discounts of single accounts; no live run is on record",
    price_kinds=("prices", "savings_plans", "spot", "capacity_blocks"),
)


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


PRICE_LIST = "prices"
DATA_TRANSFER = "data_transfer"
PUBLIC_IPS = "public_ips"
SAGEMAKER = "sagemaker"
SAVINGS_PLANS = "savings_plans"
SPOT_ADVISOR = "spot_advisor"
REGIONS = "regions"
ZONES = "zones"
INSTANCE_TYPES = "instance_types"
OFFERINGS = "offerings"
SPOT = "spot"
CAPACITY_BLOCKS = "capacity_blocks"
EC2 = "AmazonEC2"

PART_LISTS = {
    DATA_TRANSFER: "AWSDataTransfer",
    PUBLIC_IPS: "AmazonVPC",
    SAGEMAKER: "AmazonSageMaker",
}
"""Price lists in the format of EC2's list → their names in the service index."""

BULK_FILES = (PRICE_LIST, *PART_LISTS, SAVINGS_PLANS, SPOT_ADVISOR)  # Kinds that need no account

EC2_BY_REGION = (ZONES, INSTANCE_TYPES, OFFERINGS, SPOT, CAPACITY_BLOCKS)
"""Kinds that the EC2 API has by region."""

HOME_REGION = "us-east-1"
"""The region that offers nearly all types. Global data is fetched from it, and its description of a
type is used if regions describe it differently."""
