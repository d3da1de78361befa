"""Fetching over TLS, from a server here whose certificate is made for the test: all rules hold there too."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.authoring.web import Web, serving
from wikimcp.authoring.fetching import FetchRules, fetch, is_public, resolve
from wikimcp.authoring.ingest import ingest_source
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import AccessDenied, TimedOut, TooLarge, Unavailable


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a key and a certificate of mill.example that is signed by itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, made, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    asked = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    asked += ["-days", "2", "-subj", "/CN=mill.example", "-addext", "subjectAltName=DNS:mill.example"]
    subprocess.run([*asked, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both


@pytest.fixture
def web(certificate: Path) -> Iterator[Web]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context) as server:
        yield server


@pytest.fixture
def trusts(certificate: Path) -> Callable[[], ssl.SSLContext]:
    return lambda: ssl.create_default_context(cafile=str(certificate))


def test_a_page_is_fetched_over_tls_under_the_name_that_was_asked_for(
    web: Web, trusts: Any, workspace: Workspace
) -> None:
    web.put("/page", b"# Barley\n\nBy the mill.\n", Content_Type="text/markdown; charset=utf-8")
    found = fetch(web.url("/page"), web.rules(trusts=trusts))
    assert (found.data, found.url) == (b"# Barley\n\nBy the mill.\n", web.url("/page"))
    assert web.url("/page").startswith("https://")
    assert web.asked == [(f"mill.example:{web.port}", "/page")]
    report = ingest_source(workspace, url=web.url("/page"), allow_fetch=True, rules=web.rules(trusts=trusts))
    assert report.metadata["origin"] == {
        "type": "url",
        "url": web.url("/page"),
        "media_type": "text/markdown",
    }
    assert (workspace.workspace_root / report.source).read_bytes() == found.data


def test_a_certificate_that_nobody_vouches_for_is_refused(web: Web) -> None:
    web.put("/page", b"barley")
    with pytest.raises(Unavailable, match="its certificate is not valid"):
        fetch(web.url("/page"), web.rules())
    assert web.asked == []


def test_a_certificate_of_another_name_is_refused(web: Web, trusts: Any) -> None:
    web.put("/page", b"barley")
    with pytest.raises(Unavailable, match="its certificate is not valid"):
        fetch(web.url("/page", host="other.example"), web.rules(trusts=trusts))
    assert web.asked == []


def test_a_redirect_to_https_is_followed_and_one_away_from_it_is_not(web: Web, trusts: Any) -> None:
    web.put("/page", b"barley")
    web.put("/moved", status=301, Location="/page")
    with serving() as plain:
        plain.put("/", status=308, Location=web.url("/moved"))
        plain.put("/page", b"from anybody")
        web.put("/down", status=302, Location=plain.url("/page"))
        assert fetch(plain.url("/"), web.rules(trusts=trusts)).url == web.url("/page")
        asked = len(plain.asked)
        with pytest.raises(AccessDenied, match="redirects from https to an address without it"):
            fetch(web.url("/down"), web.rules(trusts=trusts))
        assert len(plain.asked) == asked


def test_private_addresses_are_refused_over_tls_too(web: Web, trusts: Any) -> None:
    web.put("/", b"secret")
    for host in ("127.0.0.1", "localhost", "mill.example"):
        rules = web.rules(trusts=trusts, permits=is_public, resolves=lambda host, port: ["127.0.0.1"])
        with pytest.raises(AccessDenied, match="not on the public internet"):
            fetch(web.url("/", host=host), rules)
    assert web.asked == []
    web.put("/in", status=302, Location=web.url("/", host="inner.example"))
    web.names["inner.example"] = [["10.0.0.1"]]
    with pytest.raises(AccessDenied, match=r"'inner\.example' is not on the public internet"):
        fetch(web.url("/in"), web.rules(trusts=trusts))
    assert [path for _, path in web.asked] == ["/in"]


def test_size_and_time_are_bounded_over_tls(web: Web, trusts: Any) -> None:
    ended = threading.Event()

    def drip(request: Any) -> None:
        while not ended.wait(0.02):
            request.wfile.write(b"x")

    def flood(request: Any) -> None:
        for _ in range(100_000):
            request.wfile.write(b"x" * 10_000)

    web.put("/flood", flood)
    web.put("/drip", drip)
    with pytest.raises(TooLarge, match="over"):
        fetch(web.url("/flood"), web.rules(trusts=trusts, most_bytes=100_000))
    try:
        with pytest.raises(TimedOut, match="longer than"):
            fetch(web.url("/drip"), web.rules(trusts=trusts, seconds=0.5))
    finally:
        ended.set()


def test_without_rules_of_a_test_the_system_decides_on_names_addresses_and_certificates() -> None:
    default = {item.name: item.default for item in fields(FetchRules)}
    assert default["permits"] is is_public
    assert default["resolves"] is resolve
    assert default["trusts"] is ssl.create_default_context
