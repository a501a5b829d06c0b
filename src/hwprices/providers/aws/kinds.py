"""List the kinds of units: what is fetched for a region, or once for all, and how it is landed."""

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
"""Price lists of disks, network and managed services, and their names in the service index. They
have the format of EC2's."""

BULK_FILES = (PRICE_LIST, *PART_LISTS, SAVINGS_PLANS, SPOT_ADVISOR)  # Kinds that need no account

EC2_BY_REGION = (ZONES, INSTANCE_TYPES, OFFERINGS, SPOT, CAPACITY_BLOCKS)
"""Kinds that the EC2 API answers for one region."""

HOME_REGION = "us-east-1"
"""The region that offers nearly all types. What is the same everywhere is fetched from it, and its
description of a type is used where regions describe it differently."""
