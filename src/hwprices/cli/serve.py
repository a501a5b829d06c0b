"""The command ``hwprices admin serve``. It needs the extra ``hwprices[pipeline]``."""

SHARED = ()


def serve() -> None:
    """Run the pipeline by its schedules, until Ctrl-C.

    Starts a Prefect server, the deployments, the automations and a worker on this machine; needs
    hwprices[pipeline].

    Example:

        hwprices admin serve
    """
    from hwprices.flows import serve as server

    server.main()
