"""Print a file of InferenceX's results as rows of the sheet serving_speeds.

``python -m tools.inferencex FILE``; tools/calibration.py fits on that sheet.
"""

import sys

from hwprices.read.recommend.inferencex import read_speeds

if __name__ == "__main__":
    sys.stdout.write(read_speeds(sys.argv[1])[0].write_csv())
