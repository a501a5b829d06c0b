"""What AI and cloud hardware costs: every price of AWS, GCP and Azure, traceable to the vendor's line.

    import hwprices
    data = hwprices.open("data")                    # the latest release, lazy
    data.prices.filter(instance_type="p5.48xlarge").collect()

Reading needs neither Prefect nor a vendor's SDK; the pipeline is the extra ``hwprices[pipeline]``.
"""

from hwprices.errors import HwpricesError
from hwprices.read.dataset import Dataset, open, releases
from hwprices.read.device.device import device
from hwprices.read.ownership import Ownership
from hwprices.read.recommend.recommend import recommend

__all__ = ["Dataset", "HwpricesError", "Ownership", "device", "open", "recommend", "releases"]
