"""The HTTP server as a process: who is let in, what is refused, how it starts and stops."""

import http.client
import json
import socket
from collections.abc import Mapping
from typing import Any

import pytest

from tests.edges.processes import INITIALIZE, PATIENCE, HttpServer, call, http_server
from wikimcp.edges.http import MAX_BODY, bind
from wikimcp.errors import SettingsError, Unavailable

JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Reply:
    """A response, read whole."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()

    @property
    def body(self) -> Any:  # noqa: ANN401 - JSON
        """The text as JSON."""
        return json.loads(self.text)


def ask(
    server: HttpServer,
    method: str,
    path: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    also: tuple[tuple[str, str], ...] = (),
) -> Reply:
    connection = http.client.HTTPConnection(server.host.strip("[]"), server.port, timeout=PATIENCE)
    try:
        given = {name.lower() for name in headers or {}}
        connection.putrequest(method, path, skip_host="host" in given)
        for name, value in [*(headers or {}).items(), *also]:
            connection.putheader(name, value)
        if body is not None and "content-length" not in given and "transfer-encoding" not in given:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return Reply(connection.getresponse())
    finally:
        connection.close()


def post(server: HttpServer, message: Mapping[str, Any], **headers: str) -> Reply:
    return ask(server, "POST", "/mcp", body=json.dumps(message).encode(), headers={**JSON_HEADERS, **headers})


def test_a_legacy_call_works_without_a_handshake_and_with_a_session_id_of_an_earlier_server(
    http: HttpServer,
) -> None:
    reply = post(http, call(1, "say", text="hi"), **{"Mcp-Session-Id": "from-before-the-restart"})
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("application/json")
    assert reply.body["result"]["content"][0]["text"] == "hi"
    assert "mcp-session-id" not in reply.headers


def test_health_and_readiness_are_told(http: HttpServer) -> None:
    assert ask(http, "GET", "/healthz").body == {"status": "ok", "name": "wikimcp", "version": "9.8.7"}
    assert ask(http, "GET", "/readyz").body == {"status": "ready"}


GOOD_HOSTS = [
    "127.0.0.1",
    "127.0.0.1:1",
    "localhost",
    "LOCALHOST:99",
    "localhost.",
    "[::1]:8000",
    "127.9.9.9",
]
BAD_HOSTS = [
    "evil.test",
    "evil.test:80",
    "127.0.0.1.evil.test",
    "localhost.evil.test",
    "evil.test@127.0.0.1",
    "127.0.0.1@evil.test",
    "127.0.0.1:80:80",
    "127.0.0.1/x",
    "10.0.0.1",
    "0.0.0.0",
    "[::2]",
    "",
    " ",
    "localhost:port",
]
ROUTES = [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/nowhere")]


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_loopback_hosts_are_served(http: HttpServer, host: str) -> None:
    assert ask(http, "GET", "/healthz", headers={"Host": host}).status == 200


@pytest.mark.parametrize("host", BAD_HOSTS)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_foreign_host_is_refused_on_every_route(
    http: HttpServer, host: str, method: str, path: str
) -> None:
    reply = ask(http, method, path, headers={"Host": host})
    assert reply.status == 421
    assert reply.body["error"]["code"] == "bad_host"


def test_two_hosts_are_refused(http: HttpServer) -> None:
    reply = ask(http, "GET", "/healthz", headers={"Host": "localhost"}, also=(("Host", "evil.test"),))
    assert reply.status in {400, 421}


@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://127.0.0.1", "https://[::1]:1"])
def test_a_local_origin_is_served(http: HttpServer, origin: str) -> None:
    assert post(http, call(1, "say", text="x"), Origin=origin).status == 200


BAD_ORIGINS = [
    "https://evil.test",
    "http://localhost.evil.test",
    "null",
    "file://",
    "",
    "http://localhost@evil.test",
    "http://localhost:80/evil.test",
    "ftp://localhost",
    "chrome-extension://localhost",
]


@pytest.mark.parametrize("origin", BAD_ORIGINS)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_foreign_origin_is_refused_on_every_route(
    http: HttpServer, origin: str, method: str, path: str
) -> None:
    reply = ask(http, method, path, headers={"Origin": origin})
    assert reply.status == 403
    assert reply.body["error"]["code"] == "bad_origin"


@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/nowhere"])
@pytest.mark.parametrize("way", ["declared", "chunked"])
def test_a_body_over_the_cap_is_refused(http: HttpServer, path: str, way: str) -> None:
    body = b"x" * (MAX_BODY + 1)
    headers = dict(JSON_HEADERS)
    if way == "chunked":
        headers["Transfer-Encoding"] = "chunked"
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    reply = ask(http, "POST", path, body=body, headers=headers)
    assert reply.status == 413
    assert reply.body["error"] == {"code": "too_large", "message": "The body is over 1,048,576 bytes."}


def test_a_body_far_over_the_cap_still_gets_its_answer(http: HttpServer) -> None:
    assert ask(http, "POST", "/mcp", body=b"x" * (12 * MAX_BODY), headers=JSON_HEADERS).status == 413


def test_a_body_at_the_cap_is_read(http: HttpServer) -> None:
    frame = len(json.dumps(call(1, "say", text="")).encode())
    reply = post(http, call(1, "say", text="x" * (MAX_BODY - frame)))
    assert reply.status == 200
    assert len(reply.body["result"]["content"][0]["text"]) == MAX_BODY - frame


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_only_post_works_on_the_mcp_route(http: HttpServer, method: str) -> None:
    reply = ask(http, method, "/mcp", headers={"Accept": "text/event-stream"})
    assert (reply.status, reply.headers["Allow"]) == (405, "POST")


def test_errors_of_routing_have_the_shape_of_all_errors(http: HttpServer) -> None:
    assert ask(http, "GET", "/nowhere").body["error"]["code"] == "not_found"
    reply = ask(http, "DELETE", "/healthz")
    assert (reply.status, reply.body["error"]["code"]) == (405, "bad_method")


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b"{}", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b'{"a":' * 20_000, b"null"]
)
@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28", "1999-01-01", "x\xff"])
def test_a_body_that_is_no_request_is_an_error_and_nothing_worse(
    http: HttpServer, body: bytes, version: str | None
) -> None:
    headers = dict(JSON_HEADERS)
    if version is not None:
        headers["MCP-Protocol-Version"] = version
    reply = ask(http, "POST", "/mcp", body=body, headers=headers)
    assert 400 <= reply.status < 500
    assert "Traceback" not in reply.text
    assert "site-packages" not in reply.text


def test_a_call_that_crashes_shows_no_details_over_http(http: HttpServer) -> None:
    reply = post(http, call(1, "fail", how="runtime"))
    assert reply.status == 200
    assert reply.body["result"]["isError"] is True
    assert "/srv" not in reply.text


def test_a_key_is_asked_for_on_all_routes_but_health() -> None:
    with http_server(key="Đ-sesame") as server:
        sesame = "Đ-sesame".encode().decode("latin-1")
        assert ask(server, "GET", "/healthz").status == 200
        assert ask(server, "GET", "/readyz").status == 200
        for method, path in [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/nowhere")]:
            reply = ask(server, method, path)
            assert reply.status == 401
            assert reply.headers["WWW-Authenticate"] == 'Bearer realm="wikimcp"'
        for wrong in ("sesame", "Bearer", "Bearer ", "Bearer sesam", f"Basic {sesame}", "Bearer \xff\xfe"):
            assert post(server, call(1, "say"), Authorization=wrong).status == 401, wrong
        assert post(server, call(1, "say", text="in"), Authorization=f"Bearer {sesame}").status == 200
        status, stderr = server.stop()
        assert status == 0
        assert "sesam" not in stderr


def test_what_was_refused_is_named_in_the_log_once() -> None:
    with http_server() as server:
        for _ in range(3):
            ask(server, "GET", "/healthz", headers={"Host": "wiki.example.org"})
            ask(server, "GET", "/healthz", headers={"Origin": "https://app.example.org"})
        _, stderr = server.stop()
    assert stderr.count("refused Host 'wiki.example.org'") == 1
    assert stderr.count("refused Origin 'https://app.example.org'") == 1


def test_a_server_stops_on_a_signal_while_a_call_hangs_and_a_client_is_connected() -> None:
    with http_server() as server:
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        hanging = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        body = json.dumps(call(1, "wait")).encode()
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        fields = "".join(f"{name}: {value}\r\n" for name, value in JSON_HEADERS.items())
        hanging.sendall(f"{head}{fields}\r\n".encode() + body)
        assert post(server, call(2, "arrived", count="1")).status == 200
        status, stderr = server.stop()
        answer = hanging.recv(4096)
        idle.close()
        hanging.close()
    assert status == 0
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert stderr.count("service closed") == 1
    assert "Traceback" not in stderr


def test_ipv6_loopback_is_served() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 on this machine")
    try:
        bind("::1", 0, guarded=False).close()
    except Unavailable:
        pytest.skip("no IPv6 loopback on this machine")
    with http_server(host="[::1]") as server:
        assert server.url == f"http://[::1]:{server.port}/mcp"
        assert post(server, INITIALIZE).body["result"]["serverInfo"]["name"] == "wikimcp"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_open_address_without_a_key_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="can be reached from other machines and there is no key"):
        bind(host, 0, guarded=False)


def test_an_open_address_with_a_key_is_bound() -> None:
    with bind("0.0.0.0", 0, guarded=True) as listener:
        assert listener.getsockname()[1] > 0


BAD_ADDRESSES = [("no such host", 80), ("", 80), ("a..b", 80), ("127.0.0.1", 99_999), ("127.0.0.1", -1)]


@pytest.mark.parametrize(("host", "port"), BAD_ADDRESSES)
@pytest.mark.usefixtures("expected_attempts")  # a name that might be a host's is looked up
def test_an_address_that_is_none_is_a_settings_error(host: str, port: int) -> None:
    with pytest.raises(SettingsError, match="is no address to serve on. Use HOST:PORT"):
        bind(host, port, guarded=False)


def test_a_port_in_use_is_named() -> None:
    with bind("127.0.0.1", 0, guarded=False) as first:
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(Unavailable, match=f"cannot serve on '127.0.0.1:{port}': address already in use"):
            bind("127.0.0.1", port, guarded=False)
