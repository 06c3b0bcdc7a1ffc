"""`make audit-dependencies` and `make sbom`, really run: the audit fails when nobody can answer."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.nightly
FAULT = {
    "id": "PYSEC-2026-1",
    "summary": "made up",
    "details": "made up",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "click"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99"}]}],
        }
    ],
}


@contextmanager
def advisories(faults: dict[str, object], status: int = 200) -> Iterator[str]:
    """A service that knows these faults of distributions, by name."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault = faults.get(asked["package"]["name"])
            body = json.dumps({"vulns": [fault]} if fault else {}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nobody listens."""

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


def audit(url: str, lock: str = "requirements-server.lock") -> subprocess.CompletedProcess[str]:
    command = ["make", "-s", "audit-dependencies", f"AUDIT=-s osv --osv-url {url}", f"LOCKS={lock}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_an_audit_passes_where_no_fault_is_known() -> None:
    with advisories({}) as url:
        done = audit(url)
    assert (done.returncode, "No known vulnerabilities found" in done.stderr) == (0, True)


def test_an_audit_fails_for_a_known_fault() -> None:
    with advisories({"click": FAULT}) as url:
        done = audit(url)
    assert done.returncode != 0
    assert "PYSEC-2026-1" in done.stdout


def test_an_audit_fails_where_nobody_answers() -> None:
    assert audit("http://127.0.0.1:9/v1/query").returncode != 0


def test_an_audit_fails_where_the_service_is_broken() -> None:
    with advisories({}, status=500) as url:
        assert audit(url).returncode != 0


def test_the_list_of_parts_is_what_a_server_is_installed_with() -> None:
    """cyclonedx-py holds it against the schema itself."""
    subprocess.run(["make", "-s", "sbom"], cwd=ROOT, check=True, capture_output=True)
    made = json.loads((ROOT / "build/askew-server.cdx.json").read_text(encoding="utf-8"))
    assert (made["bomFormat"], made["metadata"]["component"]["name"]) == ("CycloneDX", "askew")
    parts = {(each["name"], each["version"]) for each in made["components"]}
    lock = (ROOT / "requirements-server.lock").read_text(encoding="utf-8")
    assert parts == set(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", lock, re.MULTILINE))
