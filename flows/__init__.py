"""The only place that knows Prefect. Prefect reads its settings when it is imported, so the defaults are set here, before."""

import os

os.environ.setdefault(
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120"
)  # a fresh database takes up to 18 s on 2 cores
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")
