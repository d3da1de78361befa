"""Fetching: public addresses only, checked where the connection goes, at every redirect, within bounds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.authoring.web import Web, serving
from wikimcp.authoring.fetching import FetchRules, fetch, is_public
from wikimcp.errors import AccessDenied, BadArgument, TimedOut, TooLarge, Unavailable


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as server:
        yield server


def test_a_page_is_fetched_with_its_kind_and_charset(web: Web) -> None:
    web.put("/a%20b?q=1%202", "žluť".encode("iso-8859-2"), Content_Type="text/html; charset=ISO-8859-2")
    found = fetch(web.url("/a%20b?q=1%202#part"), web.rules())
    assert found.data == "žluť".encode("iso-8859-2")
    assert (found.media_type, found.charset) == ("text/html", "iso-8859-2")
    assert found.url == web.url("/a%20b?q=1%202")
    assert web.asked == [(f"mill.example:{web.port}", "/a%20b?q=1%202")]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.1.2.3",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2002:c0a8:101::1",
        "2001:0:7f00:1:0:0:0:1",
        "::7f00:1",
        "2001:db8::1",
        "168.63.129.16",
        "64:ff9b:1::7f00:1",
        "::ffff:0:127.0.0.1",
        "fec0::1",
        "",
        "mill.example",
        "0x7f.1",
        "2130706433",
    ],
)
def test_addresses_of_this_machine_and_its_networks_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "93.184.215.14", "2606:4700::1111", "2a00:1450:4001::1"]
)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://2130706433:{port}/",
        "http://0x7f.1:{port}/",
        "http://127.1:{port}/",
        "http://169.254.169.254/latest/meta-data/",
    ],
)
def test_by_its_own_rules_nothing_on_this_machine_is_ever_asked(web: Web, url: str) -> None:
    with pytest.raises((AccessDenied, Unavailable)):
        fetch(url.format(port=web.port), FetchRules(seconds=5))
    assert web.asked == []


def test_a_name_that_has_one_private_address_among_others_is_refused(web: Web) -> None:
    web.names["mixed.example"] = [["127.0.0.1", "10.0.0.1"]]
    with pytest.raises(AccessDenied, match="not on the public internet"):
        fetch(web.url("/", host="mixed.example"), web.rules())
    assert web.asked == []


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(web: Web) -> None:
    web.put("/", b"once")
    web.names["rebind.example"] = [["127.0.0.1"], ["10.0.0.1"]]  # another answer the second time
    assert fetch(web.url("/", host="rebind.example"), web.rules()).data == b"once"
    assert web.resolved == ["rebind.example"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_redirect_is_checked_anew(web: Web, status: int) -> None:
    web.put("/", status=status, Location="/there")
    web.put("/there", status=status, Location=web.url("/last", host="other.example"))
    web.put("/last", b"here")
    assert fetch(web.url("/"), web.rules()).data == b"here"
    assert web.resolved == ["mill.example", "mill.example", "other.example"]
    web.names["other.example"] = [["169.254.169.254"]]
    with pytest.raises(AccessDenied, match=r"'other\.example' is not on the public internet"):
        fetch(web.url("/"), web.rules())


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd",
        "ftp://mill.example/x",
        "gopher://x/",
        "http://user:pw@mill.example/",
        "data:text/html,x",
    ],
)
def test_a_redirect_to_another_kind_of_address_is_refused(web: Web, target: str) -> None:
    web.put("/", status=302, Location=target)
    with pytest.raises(BadArgument):
        fetch(web.url("/"), web.rules())


def test_redirects_end(web: Web) -> None:
    web.put("/", status=302, Location="/")
    with pytest.raises(Unavailable, match="redirects more than 5 times"):
        fetch(web.url("/"), web.rules())
    assert len(web.asked) == 6


@pytest.mark.parametrize(
    "url",
    [
        "ftp://mill.example/x",
        "file:///etc/passwd",
        "mill.example/x",
        "http://",
        "http://user:pw@mill.example/",
        "http://mill.example:99999/",
        "http://mill.example/a b",
        "http://mill.example/\r\nHost: other",
        "http://[::1",
        "http://a..b/",
        "http://mill.example/" + "x" * 5_000,
        "",
    ],
)
def test_what_is_no_web_address_is_told(url: str) -> None:
    with pytest.raises(BadArgument):
        fetch(url, FetchRules(resolves=lambda host, port: pytest.fail("asked")))


def test_a_host_that_is_not_known_is_told(web: Web) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise OSError("no such host")

    def nowhere(host: str, port: int) -> list[str]:
        return []

    for resolves in (unknown, nowhere):
        with pytest.raises(Unavailable, match=r"'gone\.example' is not known"):
            fetch("http://gone.example/", web.rules(resolves=resolves))


def test_answers_that_are_no_page_are_told(web: Web) -> None:
    with pytest.raises(Unavailable, match="answered 404"):
        fetch(web.url("/none"), web.rules())
    web.put("/packed", b"x", Content_Encoding="gzip")
    with pytest.raises(Unavailable, match="as gzip"):
        fetch(web.url("/packed"), web.rules())
    web.put("/short", b"x", Content_Length="100")
    with pytest.raises(Unavailable, match="broke off"):
        fetch(web.url("/short"), web.rules())
    with pytest.raises(Unavailable, match="does not give the page"):
        fetch(f"https://mill.example:{web.port}/", web.rules())


def test_a_page_over_the_cap_is_refused_by_what_it_says_and_by_what_it_sends(web: Web) -> None:
    web.put("/told", b"x" * 2_000)
    with pytest.raises(TooLarge, match="over"):
        fetch(web.url("/told"), web.rules(most_bytes=1_000))

    def flood(request: Any) -> None:
        for _ in range(100_000):
            request.wfile.write(b"x" * 10_000)

    web.put("/flood", flood)
    with pytest.raises(TooLarge, match="over"):
        fetch(web.url("/flood"), web.rules(most_bytes=100_000))


def test_a_server_that_drips_or_hangs_is_left_at_the_time_limit(web: Web) -> None:
    ended = threading.Event()

    def drip(request: Any) -> None:
        while not ended.wait(0.02):
            request.wfile.write(b"x")

    def hang(_request: Any) -> None:
        ended.wait(20)

    web.put("/drip", drip)
    web.put("/hang", hang, Content_Length="10")
    try:
        for path in ("/drip", "/hang"):
            with pytest.raises(TimedOut, match="longer than"):
                fetch(web.url(path), web.rules(seconds=0.3))
        with pytest.raises(TimedOut, match="longer than"):
            fetch(web.url("/"), web.rules(seconds=0.1, resolves=lambda host, port: hang(None) or []))
    finally:
        ended.set()
