"""The page in Firefox, driven over WebDriver BiDi: it opens, answers, and has no fault."""

import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PATIENCE = 120  # seconds, for a browser that starts on a busy machine
VIEWS = ("offers?map=open", "machine", "accelerators", "charts", "release")


class Firefox:
    """A session with one tab."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.faults: list[str] = []
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        tree = self.send("browsingContext.getTree")
        self._tab = tree["contexts"][0]["context"]

    def send(self, method: str, **parameters: Any) -> Any:
        """Send a command and wait for its answer; what the page logs meanwhile is kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        for _ in range(1000):
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.faults.append(message["params"]["text"])
            if message.get("id") == number:
                assert message["type"] == "success", message
                return message["result"]
        raise AssertionError(f"no answer to {method}")

    def go(self, address: str) -> None:
        """Open an address and wait until the page is drawn."""
        self.send("browsingContext.navigate", context=self._tab, url="about:blank", wait="complete")
        self.send("browsingContext.navigate", context=self._tab, url=address, wait="complete")
        self.evaluate(
            "new Promise((done) => { const look = () => document.documentElement.dataset.ready"
            " ? done(true) : setTimeout(look, 20); look(); })"
        )

    def evaluate(self, script: str) -> Any:
        """Evaluate an expression in the page; promises are waited for."""
        answer = self.send(
            "script.evaluate", expression=script, target={"context": self._tab}, awaitPromise=True
        )
        assert answer["type"] == "success", answer
        return answer["result"].get("value")


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    """The system's Firefox without a window, with a profile of its own."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("no Firefox on the PATH: apt-get install firefox-esr")
    from websockets.sync.client import connect

    command = [program, "--headless", "--no-remote", "--profile", str(tmp_path)]
    log = tmp_path / "firefox.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, "--remote-debugging-port", "0"], stdout=output, stderr=output
        ) as process,
    ):
        try:
            with connect(f"{_address(log)}/session", max_size=None) as socket:
                yield Firefox(socket)
        finally:
            process.terminate()


def _address(log: Path) -> str:
    """Wait until Firefox has written where it listens."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        match = re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text())
        if match:
            return match[1]
        time.sleep(0.1)
    raise AssertionError(f"Firefox does not listen: {log.read_text()}")


def test_the_page_opens_filters_and_answers_in_firefox(firefox: Firefox, folder: Path) -> None:
    for view in VIEWS:
        firefox.go(f"{folder.as_uri()}/index.html#{view}")
        assert firefox.evaluate("document.querySelector('h1').textContent.length > 0")
    firefox.go(f"{folder.as_uri()}/index.html#offers?q=p5.48")
    assert firefox.evaluate("document.querySelector('.found b').textContent") == "1"
    firefox.evaluate("document.querySelector('.list tbody .machine a').click()")
    dialog = firefox.evaluate(
        "new Promise((done) => { const look = () => {"
        " const dialog = document.querySelector('dialog[open]');"
        " dialog ? done(dialog.textContent) : setTimeout(look, 20); }; look(); })"
    )
    assert "$55.04" in dialog
    firefox.go(f"{folder.as_uri()}/index.html#machine?model=llama-3.1-8b&where=cloud")
    assert firefox.evaluate("document.querySelectorAll('.answer tbody tr').length") > 0
    assert firefox.faults == []
