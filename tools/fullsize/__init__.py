"""Serve the three large clouds on loopback, at their real sizes.

    python -m tools.fullsize [--scale 0.01] [--regions 3] [--seed 1] [--port 8000]

Starts a server and prints the environment variables that send a refresh there. Names of machines,
regions and SKUs, and the shapes of pages, are those of the sample and of the bundled tables; prices
are made up, and the same for the same seed. AWS's bulk files are written into a temporary folder
before it is ready, 19 GB at full size, and Azure's pages are kept gzipped in memory. All other
pages are made while they are sent.
"""
