"""Credentials planted wherever one can come from, and looked for in all that runs leave.

The vendors' SDKs send them over TLS to a server on loopback that repeats every request, headers and
all, in its error bodies. Some units fail so and the rest is published. Then every byte below the
root and in the folder of temporary files is searched (pages and tables decompressed), and the log,
the terminal, the texts of Prefect's artifacts, and what was raised with its whole chain.
"""

import base64
import json
import logging
import traceback
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import polars as pl
import pytest
from google.auth.exceptions import DefaultCredentialsError
from tests.helpers import tls, vendors
from tests.helpers.azure_pages import SUBSCRIPTION
from tests.helpers.cases import cases
from tests.helpers.stub_server import Reply, Request, StubServer

from hwprices.collect import Collector
from hwprices.errors import HwpricesError
from hwprices.landing.download import NAMES, public_url, redact
from hwprices.landing.limits import Limits
from hwprices.landing.pages import UnitResult
from hwprices.providers.azure import retail
from hwprices.providers.gcp import google_apis
from hwprices.publish import release, status
from hwprices.settings import load
from hwprices.stage import stage_run
from hwprices.storage import layout, packed
from hwprices.storage.store import Store

CANARY = "c4n4ry4711k4n4r13nv0g3l"
"""In every planted credential."""

WHOLE_KEY = f"AKIA{CANARY.upper()}ACCESSKEY"


class Places:
    """Where the credentials are planted, and the server that they are sent to."""

    def __init__(self, server: StubServer, folder: Path, root: Path) -> None:
        self.server, self.folder, self.root = server, folder, root
        self.sent: set[str] = set()

    def variables(self) -> dict[str, str]:
        """Make the environment of a run."""
        url = self.server.url
        private = {k: v for n in vendors.PROVIDERS for k, v in self._of(n).items()}
        return private | {
            "HWPRICES_ROOT": str(self.root),
            "HWPRICES_SOURCE": "live",
            "HWPRICES_ATTEMPTS": "1",
            "HWPRICES_AWS_SPOT_ADVISOR_URL": f"{url}/spot-advisor-data.json?sig={CANARY}-sas&sv=1",
            "HWPRICES_GCP_API_KEY": f"AIza{CANARY}-api-key",
            "AZURE_CLIENT_SECRET": f"{CANARY}-client-secret",
            "AZURE_STORAGE_ACCOUNT_KEY": f"{CANARY}-account-key",
            "AZURE_STORAGE_SAS_TOKEN": f"sv=1&sig={CANARY}-sas-token",
            "IDENTITY_ENDPOINT": f"{url}/identity",
            "IDENTITY_HEADER": f"{CANARY}-identity-header",
            "GOOGLE_APPLICATION_CREDENTIALS": str(self._service_account()),
        }

    def _of(self, name: str) -> dict[str, str]:
        variables = vendors.environment(name, self.server.url, self.folder)
        if name == "aws":
            for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CONFIG_FILE"):
                del variables[variable]
            variables["AWS_SHARED_CREDENTIALS_FILE"] = str(self._profile())
        return variables

    def _profile(self) -> Path:
        path = self.folder / "credentials"
        path.write_text(
            f"[default]\naws_access_key_id = {WHOLE_KEY}\n"
            f"aws_secret_access_key = {CANARY}-secret-access-key\n"
            f"aws_session_token = {CANARY}-session-token\n"
        )
        return path

    def _service_account(self) -> Path:
        path = self.folder / "service-account.json"
        account = {
            "type": "service_account",
            "project_id": "example",
            "private_key_id": f"{CANARY}-key-id",
            "private_key": tls.pem(tls.private_key()),
            "client_email": "collector@example.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": f"{self.server.url}/google-token",
        }
        path.write_text(json.dumps(account))
        return path

    def serve(self) -> None:
        """Serve all three vendors, and repeat the request instead of some of their pages."""
        for name in vendors.PROVIDERS:
            vendors.serve(name, self.server)
        for path, handler in list(self.server.routes.items()):
            self.server.on(path, lambda request, serve=handler: self._answer(request, serve))
        expires = {"expires_in": "3600", "expires_on": "4102444800", "token_type": "Bearer"}
        for path in ("/identity", "/google-token"):
            token = {"access_token": f"ya29.{CANARY}-access-token", **expires}
            self.server.on(path, Reply.json(token))

    def _answer(self, request: Request, serve) -> Reply:
        repeated = json.dumps({"headers": request.headers, "url": request.raw_path})
        self.sent |= {name.lower() for name, value in request.headers.items() if CANARY in value}
        self.sent |= {"authorization"} if WHOLE_KEY in repeated else set()
        if "DescribeSpotPriceHistory" in request.body.decode():
            error = f"<Error><Code>Denied</Code><Message>{repeated}</Message></Error>"
            body = f"<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>"
            return Reply(body.encode(), status=400, content_type="text/xml")
        if any(word in request.path for word in ("E000-3F24-B8AA", "/zones", "spot-advisor")):
            error = {"error": {"code": 400, "message": repeated, "status": "INVALID_ARGUMENT"}}
            return Reply.json(error, status=400)
        if "Microsoft.Compute/skus" in request.path and "westeurope" in str(request.query):
            return Reply.json({"error": {"code": "Denied", "message": repeated}}, status=401)
        return serve(request)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    folder, scratch = tmp_path / "private", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    server = StubServer()
    certificate = tls.secure(server, folder)
    server.start()
    places = Places(server, folder, tmp_path / "data")
    places.serve()
    for variable in tls.TRUST_VARIABLES:
        monkeypatch.setenv(variable, str(certificate))
    for variable, value in places.variables().items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    # google-auth asks this host, which no setting redirects, where a service account may be used
    host = server.url.removeprefix("https://")
    monkeypatch.setattr(
        "google.auth._regional_access_boundary_utils._get_domain", lambda: host, raising=False
    )
    yield places
    server.stop()


def leaks(text: str) -> bool:
    """Tell whether a text holds a canary: as it is, in capitals, in base64 or percent-encoded."""
    lower = text.lower()
    encoded = (base64.b64encode(CANARY.encode()[i:]).decode()[2:-2] for i in range(3))
    return CANARY in lower or quote(CANARY) in lower or any(code in text for code in encoded)


def stored(folder: Path) -> dict[str, str]:
    """Read every file below a folder as text; pages and tables are decompressed."""
    texts: dict[str, str] = {}
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if layout.is_page(path.name):
            with packed.open_packed(path, packed.packing_of(path.name)) as content:
                data = packed.read_all(content)
        if path.suffix == ".parquet":
            data += str(pl.read_parquet(path, hive_partitioning=False).to_dicts()).encode()
        texts[str(path.relative_to(folder))] = data.decode("latin-1")
    return texts


@pytest.mark.slow
def test_no_credential_is_written_logged_printed_or_raised(places, caplog, capfd) -> None:
    caplog.set_level(logging.INFO)
    from hwprices.flows import reports

    texts: dict[str, str] = {}
    failed: list[UnitResult] = []
    for name in vendors.PROVIDERS:
        settings = load()
        with Collector(name, settings, sleep=lambda _: None) as collector:
            if name == "gcp":
                texts["settings"] = repr(collector.settings) + str(collector.settings)
            results = [collector.fetch(unit) for unit in collector.plan()]
            failed += [result for result in results if result.status in ("failed", "skipped")]
            run = collector.record(datetime.now(UTC), results)
        staged = stage_run(settings, run)
        texts[f"artifact of {name}"] = reports.collected(staged)
    published = release.publish(Store(places.root))
    texts["artifact of refresh"] = reports.refreshed(
        published, {"aws": failed[0].reason}, vendors.PROVIDERS, str(places.root)
    )
    status.record_failure(
        Store(places.root), "aws", failed[0].reason, started_at=datetime.now(UTC), results=failed
    )
    texts |= stored(places.root) | stored(places.root.parent / "scratch")
    texts["log"] = caplog.text
    texts["terminal"] = "".join(capfd.readouterr())
    assert {unit.unit.provider for unit in failed} == set(vendors.PROVIDERS)
    assert {name for name, text in texts.items() if leaks(text)} == set()
    assert {name for name, text in texts.items() if SUBSCRIPTION in text} == set()
    assert {"authorization", "x-goog-api-key", "x-amz-security-token"} <= places.sent


@pytest.mark.slow
@pytest.mark.parametrize("provider", vendors.PROVIDERS)
def test_no_credential_is_in_what_is_raised(places: Places, provider: str) -> None:
    """Every page is refused, the request repeated; the whole chain of each error is searched."""

    def repeat(request: Request) -> Reply:
        repeated = json.dumps({"headers": request.headers, "url": request.raw_path})
        return Reply.json({"error": {"code": 403, "message": repeated}}, status=403)

    with Collector(provider, load(), sleep=lambda _: None) as collector:
        context, units = collector._context, collector.plan()
        for path in places.server.routes:
            if path not in ("/identity", "/google-token"):
                places.server.on(path, repeat)
        raised = []
        for unit in units:
            with pytest.raises(HwpricesError) as error:
                collector.provider.fetch(replace(context, http=context.http.for_unit("u")), unit)
            raised.append("".join(traceback.format_exception(error.value)))
    assert raised
    assert [text for text in raised if leaks(text)] == []


@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{CANARY}@prices.example/x",
        f"https://{CANARY}@prices.example/x",
        f"http://user:{CANARY}@prices.example/x?sig={CANARY}",
    ],
)
def test_a_password_in_an_endpoint_is_refused_without_being_shown(monkeypatch, url) -> None:
    monkeypatch.setenv("HWPRICES_AWS_PRICE_LIST_URL", url)
    with pytest.raises(HwpricesError, match="HWPRICES_AWS_PRICE_LIST_URL") as error:
        Collector("aws", load())
    assert not leaks("".join(traceback.format_exception(error.value)))
    assert not leaks(public_url(url))


@cases("reliability/credentials_in_words")
def test_credentials_in_vendors_words_are_replaced(words: str) -> None:
    assert leaks(words)
    assert not leaks(redact(words))
    assert "(secret)" in redact(words)


@pytest.mark.parametrize("name", NAMES)
def test_the_value_of_each_secret_name_is_left_out(name: str) -> None:
    """As a parameter of a landed URL, and in a message: in each spelling that vendors have."""
    for spelling in (name, name.upper(), name.replace("-", "_"), name.replace("-", "")):
        url = f"https://h.example/x?a=1&{spelling}={CANARY}&{quote(spelling).replace('-', '%2D')}=2"
        assert public_url(url) == "https://h.example/x?a=1"
        assert redact(f"refused: {spelling}={CANARY}; x") == f"refused: {spelling}=(secret); x"
        assert redact(f'{{"{spelling}": "{CANARY}"}}') == f'{{"{spelling}": "(secret)"}}'


def test_a_secret_in_an_endpoints_url_is_in_no_error_about_it(monkeypatch) -> None:
    url = f"https://mirror.example/x?sig={CANARY}"

    def refuse(*_: object, **__: object) -> None:
        raise retail._InconsistentError("rows shift")

    def no_credentials(**_: object) -> None:
        raise DefaultCredentialsError

    monkeypatch.setattr(retail, "_download", refuse)
    with pytest.raises(HwpricesError, match=r"mirror.example/x returned .*, 3 times") as regions:
        retail.read_regions(None, url)  # type: ignore[arg-type]
    monkeypatch.setenv("HWPRICES_AZURE_RETAIL_URL", url.replace("https:", "http:"))
    with pytest.raises(HwpricesError, match="HWPRICES_AZURE_RETAIL_URL: the") as setting:
        Collector("azure", load())
    monkeypatch.setattr("google.auth.default", no_credentials)
    with pytest.raises(
        HwpricesError, match=r"no credentials for https://mirror.example/x\."
    ) as gcp:
        google_apis._application_default_credentials(url)
    session = SimpleNamespace(hooks={"response": []})
    client = SimpleNamespace(transport=SimpleNamespace(_session=session))
    google = google_apis.GoogleClient(client, url, load(), lambda _: None, Limits(load()))
    failed = google._fetch_error(ConnectionError("refused"))
    assert str(failed).startswith("https://mirror.example/x failed")
    assert not any(leaks(str(error.value)) for error in (regions, setting, gcp))


def test_values_of_secret_variables_are_replaced_wherever_they_stand(monkeypatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"{CANARY}-value")
    assert redact(f"you sent <{CANARY}-value> to me") == "you sent <(secret)> to me"
    ordinary = "HTTP 403: the caller does not have permission on project example"
    assert redact(ordinary) == ordinary
