"""Start the server and print the environment of a refresh. See the package."""

import argparse
import shlex
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tools import fullsize
from tools.fullsize.environment import aws_variables, azure_variables, gcp_variables
from tools.fullsize.server import FullSizeServer
from tools.fullsize.sizes import Size


def main() -> int:
    """Serve until the process is interrupted. The bulk files are kept in a temporary folder."""
    parser = argparse.ArgumentParser(
        description=fullsize.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of types and SKUs")
    parser.add_argument("--regions", type=int, help="regions of each vendor; default all")
    parser.add_argument("--seed", type=int, default=1, help="another one gives other prices")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--box-lines", type=int, default=1, help="kinds of AWS box lines, 0 to 4")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the folder is deleted then too
    size = Size(options.scale, options.regions, options.seed, options.box_lines)
    server = FullSizeServer(size, options.port)
    with tempfile.TemporaryDirectory(prefix="hwprices-fullsize-") as folder:
        megabytes = server.keep(Path(folder)) / 1e6
        variables = (
            aws_variables(server.url, Path(folder))
            | azure_variables(server.url)
            | gcp_variables(server.url)
        )
        for name, value in variables.items():
            print(f"export {name}={shlex.quote(value)}")
        print(f"# ready: bulk files of {megabytes:,.0f} MB; stop with Ctrl-C", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
