"""Fetches one document from the web for ingest, and never from this machine or its own networks.

The address that is checked is the address that is connected to: a name is resolved once, every address
it has must be public, and no library resolves it again. Each redirect begins anew. Time and size are
bounded over the whole fetch, and no proxy, cookie, credential or compression takes part.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from urllib.parse import SplitResult, quote, urljoin, urlsplit, urlunsplit

from wikimcp.errors import AccessDenied, BadArgument, TimedOut, TooLarge, Unavailable, WikimcpError

MOST_BYTES = 32 * 2**20
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MOST_REDIRECTS = 5
_PIECE = 65_536
_LONGEST_URL = 4_000
_URL_SAFE = "/:?#[]@!$&'()*+,;=%~-._"

_NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "168.63.129.16/32",  # where one cloud serves its machines from an address like any other
        "192.0.0.0/24",
        "192.88.99.0/24",
        "64:ff9b:1::/48",
        "fec0::/10",
        "5f00::/16",
        "3fff::/20",
        "::ffff:0:0:0/96",
    )
)
"""What is not for everybody to reach, though not every version of the standard library knows."""

Resolver = Callable[[str, int], Sequence[str]]
"""From host and port to the addresses of the host. Raises OSError when it has none."""


def resolve(host: str, port: int) -> Sequence[str]:
    """Return every address of a host, as the system knows them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet.

    Private, loopback, link-local (where cloud metadata is served), shared, reserved and multicast
    addresses are not, nor IPv6 addresses that carry such an IPv4 address inside.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if any(found in network for network in _NOT_PUBLIC if network.version == found.version):
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        inner = inner or _translated(found)
        if inner is not None:
            return found.ipv4_mapped is None and found.is_global and is_public(str(inner))
    return found.is_global and not found.is_multicast


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that a NAT64 or an IPv4-compatible address stands for."""
    if address in ipaddress.ip_network("64:ff9b::/96") or int(address) >> 32 == 0:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


@dataclass(frozen=True, slots=True)
class FetchRules:
    """How far a fetch may go. ``permits`` decides on addresses, ``resolves`` finds them.

    ``trusts`` gives the TLS context that certificates are checked by; nothing that an operator or a caller
    sets leads to any of the three.
    """

    seconds: float = 30.0
    most_bytes: int = MOST_BYTES
    most_redirects: int = _MOST_REDIRECTS
    resolves: Resolver = resolve
    permits: Callable[[str], bool] = is_public
    trusts: Callable[[], ssl.SSLContext] = ssl.create_default_context


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document: its bytes, where it came from at last, and what the server says it is."""

    data: bytes = field(repr=False)
    url: str
    media_type: str = ""
    charset: str = ""


def fetch(url: str, rules: FetchRules | None = None) -> Fetched:
    """Fetch a document over http or https.

    Raises BadArgument for a URL of another form, AccessDenied for an address that is not public,
    TooLarge, TimedOut, or Unavailable when the server does not give it.
    """
    rules = rules or FetchRules()
    deadline = time.monotonic() + rules.seconds
    at = url.strip()
    for _ in range(rules.most_redirects + 1):
        parts = _checked(at)
        with _asked(parts, rules, deadline) as response:
            if response.status in _REDIRECTS and (target := response.headers.get("Location")):
                following = urljoin(urlunsplit(parts), target)
                if parts.scheme == "https" and not following.lower().startswith("https:"):
                    raise AccessDenied("the server redirects from https to an address without it")
                at = following
                continue
            if response.status != 200:
                raise Unavailable(
                    f"the server answered {response.status}", hint="See whether the address is right."
                )
            data = _body(response, rules, deadline)
            return _fetched(data, urlunsplit(parts), response.headers)
    raise Unavailable(f"the server redirects more than {rules.most_redirects} times")


def _fetched(data: bytes, url: str, headers: Message) -> Fetched:
    media_type = headers.get_content_type() if headers.get("Content-Type") else ""
    return Fetched(data, url, media_type, headers.get_content_charset() or "")


def _checked(url: str) -> SplitResult:
    """Return the parts of a URL as they may go into a request. Raises BadArgument."""
    hint = "As in https://example.org/page."
    if len(url) > _LONGEST_URL:
        raise BadArgument(f"the url is longer than {_LONGEST_URL:,} characters")
    if any(ord(character) < 0x21 or ord(character) == 0x7F for character in url):
        raise BadArgument("the url holds blanks or control characters", hint=hint)
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise BadArgument("this is no url", hint=hint) from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadArgument("only http and https urls are fetched", hint=hint)
    if parts.username is not None or parts.password is not None:
        raise BadArgument("the url holds a name or password", hint="Fetch it yourself and give the file.")
    try:
        name = host if ":" in host else host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise BadArgument("the host of the url is no name", hint=hint) from error
    where = f"[{name}]" if ":" in name else name
    where = f"{where}:{port}" if port is not None else where
    path, query = quote(parts.path or "/", safe=_URL_SAFE), quote(parts.query, safe=_URL_SAFE)
    return SplitResult(parts.scheme, where, path, query, "")


@contextmanager
def _asked(parts: SplitResult, rules: FetchRules, deadline: float) -> Iterator[http.client.HTTPResponse]:
    """Send one request to a checked address; the connection ends with the block, or at the deadline."""
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = _address(host, port, rules, deadline)
    trusts = rules.trusts if parts.scheme == "https" else None
    connection = _Connection(host, port, address, trusts=trusts, deadline=deadline)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    watch = threading.Timer(max(deadline - time.monotonic(), 0), connection.abort)
    watch.daemon = True
    watch.start()
    try:
        connection.request(
            "GET",
            path,
            headers={
                "Host": parts.netloc,
                "User-Agent": "wikimcp",
                "Accept": "*/*",
                "Accept-Encoding": "identity",
                "Connection": "close",
            },
        )
        with contextlib.closing(connection.getresponse()) as response:
            yield response
    except WikimcpError:
        raise
    except (OSError, http.client.HTTPException) as error:
        if connection.aborted or time.monotonic() >= deadline:
            raise _too_slow(rules) from error
        what = "its certificate is not valid" if isinstance(error, ssl.SSLError) else type(error).__name__
        raise Unavailable(f"the server does not give the page ({what})") from error
    finally:
        watch.cancel()
        connection.close()


def _address(host: str, port: int, rules: FetchRules, deadline: float) -> str:
    """Resolve a host and return its first address, when all it has may be connected to."""
    found = _resolved(host, port, rules, deadline)
    if not found:
        raise Unavailable(f"the host '{host[:100]}' is not known")
    if not all(rules.permits(address) for address in found):
        raise AccessDenied(
            f"'{host[:100]}' is not on the public internet",
            hint="Only public addresses are fetched. Give the file with path.",
        )
    return found[0]


def _resolved(host: str, port: int, rules: FetchRules, deadline: float) -> Sequence[str]:
    """Return the addresses of a host; none when it has none. A resolver that hangs is left behind."""
    found: list[str] = []

    def look() -> None:
        with contextlib.suppress(OSError, UnicodeError):
            found.extend(rules.resolves(host, port))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(max(deadline - time.monotonic(), 0))
    if looking.is_alive():
        raise _too_slow(rules)
    return found


class _Connection(http.client.HTTPConnection):
    """A connection to the address that was checked, whatever the name of the host resolves to by now."""

    def __init__(
        self,
        host: str,
        port: int,
        address: str,
        *,
        trusts: Callable[[], ssl.SSLContext] | None,
        deadline: float,
    ) -> None:
        super().__init__(host, port)
        self._address = address
        self._trusts = trusts
        self._deadline = deadline
        self._opened: socket.socket | None = None  # also when the response has taken it over
        self.aborted = False

    def connect(self) -> None:
        """Connect, with TLS and the host's own name where the scheme asks for it."""
        remaining = max(self._deadline - time.monotonic(), 0.01)
        sock = socket.create_connection((self._address, self.port), timeout=remaining)
        self.sock = sock
        self._opened = sock
        if self._trusts is not None:
            self.sock = self._trusts().wrap_socket(sock, server_hostname=self.host)
            self._opened = self.sock

    def abort(self) -> None:
        """Break the connection from another thread, so that a server that drips ends with the rest."""
        self.aborted = True
        if self._opened is not None:
            with contextlib.suppress(OSError):
                self._opened.shutdown(socket.SHUT_RDWR)


def _body(response: http.client.HTTPResponse, rules: FetchRules, deadline: float) -> bytes:
    if (coding := response.headers.get("Content-Encoding", "identity").lower()) not in ("", "identity"):
        raise Unavailable(f"the server sends the page as {coding[:20]} though it was asked for it as it is")
    too_large = TooLarge(f"the page is over {rules.most_bytes / 2**20:g} MiB", hint="Give it in parts.")
    if (response.length or 0) > rules.most_bytes:
        raise too_large
    parts, size = [], 0
    while piece := response.read1(_PIECE):
        parts.append(piece)
        size += len(piece)
        if size > rules.most_bytes:
            raise too_large
        if time.monotonic() >= deadline:
            break
    if time.monotonic() >= deadline:  # perhaps broken off by us: that looks like an end
        raise _too_slow(rules)
    if response.length:
        raise Unavailable("the server broke off in the middle of the page", hint="Try again.")
    return b"".join(parts)


def _too_slow(rules: FetchRules) -> TimedOut:
    return TimedOut(f"fetching the page took longer than {rules.seconds:g} seconds and was stopped")
