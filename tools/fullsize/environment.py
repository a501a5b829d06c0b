"""The environment variables that send a refresh to a server on loopback, and their names."""

from pathlib import Path

AWS_SPOT_ADVISOR = "/spot-advisor-data.json"
AZURE_RETAIL = "/api/retail/prices"
AZURE_SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
GCP_PROJECT = "example"


def aws_variables(url: str, folder: Path) -> dict[str, str]:
    """List the variables for AWS at ``url``; ``folder`` must be empty."""
    return {
        "HWPRICES_AWS_PRICE_LIST_URL": url,
        "HWPRICES_AWS_CHINA_PRICE_LIST_URL": url,
        "HWPRICES_AWS_SPOT_ADVISOR_URL": f"{url}{AWS_SPOT_ADVISOR}",
        "AWS_ENDPOINT_URL_EC2": url,
        "AWS_ACCESS_KEY_ID": "AKIASAMPLE",
        "AWS_SECRET_ACCESS_KEY": "not-a-real-key",
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
        "AWS_CONFIG_FILE": str(folder / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def azure_variables(url: str) -> dict[str, str]:
    """List the variables for Azure at ``url``."""
    return {
        "HWPRICES_AZURE_RETAIL_URL": f"{url}{AZURE_RETAIL}",
        "HWPRICES_AZURE_ARM_URL": url,
        "AZURE_SUBSCRIPTION_ID": AZURE_SUBSCRIPTION,
    }


def gcp_variables(url: str) -> dict[str, str]:
    """List the variables for Google Cloud at ``url``."""
    return {
        "HWPRICES_GCP_BILLING_URL": url,
        "HWPRICES_GCP_COMPUTE_URL": url,
        "HWPRICES_GCP_TPU_URL": url,
        "HWPRICES_GCP_PROJECT": GCP_PROJECT,
    }
