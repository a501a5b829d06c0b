"""What AI and cloud hardware costs: every price of AWS, GCP and Azure, traceable to the vendor's line.

    import hwprices
    data = hwprices.open("data")                    # the latest release, lazy
    data.prices.filter(instance_type="p5.48xlarge").collect()

Reading needs neither Prefect nor a vendor's SDK; the pipeline is the extra ``hwprices[pipeline]``.
"""

from hwprices.answers.device import device
from hwprices.answers.recommend import recommend
from hwprices.answers.tco import Ownership
from hwprices.dataset import Dataset, open, releases
from hwprices.errors import HwpricesError

__all__ = ["Dataset", "HwpricesError", "Ownership", "device", "open", "recommend", "releases"]
