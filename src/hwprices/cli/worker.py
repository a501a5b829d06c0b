"""The command ``hwprices admin worker``. It needs the extra ``hwprices[pipeline]``."""

SHARED = ()


def worker() -> None:
    """Run the scheduled flows of your own Prefect server.

    A worker of the work pool that `hwprices admin deploy` has made; PREFECT_API_URL names the
    server. It runs flows as processes, and ends them when it is ended (docs/operations.md). On
    Kubernetes flows are jobs of their own, and Prefect's own worker starts them.

    Example:

        hwprices admin worker
    """
    from hwprices.flows import serve as schedules

    schedules.work()
