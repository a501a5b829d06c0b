"""Ask Google for the smallest lists that a run reads with each credential."""

from collections.abc import Iterator

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Unit
from hwprices.providers import Check, Context, SkippedError
from hwprices.providers.gcp import Settings, fetch, kinds


def check_access(context: Context) -> Iterator[Check]:
    """Check the credential of the billing catalog, and the rights in the project.

    Reads one page of each: Cloud TPU's SKUs in the catalog, and the project's zones. Without the
    catalog no price is collected.
    """
    settings: Settings = context.settings
    try:
        fetch.check_configured(settings)
    except SkippedError as skipped:
        detail = "no credentials: Google Cloud is skipped"
        yield Check("billing catalog", "absent", detail, skipped.remedy)
        return
    key = "HWPRICES_GCP_API_KEY" if settings.gcp_api_key else "application default credentials"
    problem = _problem(context, kinds.TPU_SKUS)
    yield Check(
        "billing catalog",
        "failed" if problem else "ok",
        problem.message if problem else f"read with {key}: all prices",
        problem.remedy if problem else "",
    )
    if not settings.gcp_project:
        yield Check(
            "project",
            "absent",
            "HWPRICES_GCP_PROJECT is not set: machine types and zones come from the bundled table",
            "Set it to a project with the Compute Engine API enabled, and log in with the"
            " least rights, docs/gcp-role.yaml.",
        )
        return
    problem = _problem(context, kinds.ZONES)
    yield Check(
        "project",
        "failed" if problem else "ok",
        problem.message if problem else "its lists can be read: live machine types and zones",
        problem.remedy if problem else "",
    )


def _problem(context: Context, kind: str) -> HwpricesError | None:
    try:
        fetch.fetch(context, Unit("gcp", kind))
    except HwpricesError as error:
        return error
    return None
