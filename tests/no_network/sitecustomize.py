"""Loaded by every Python process of a test run: no connection and no question leaves this machine.

The interpreter imports this module by its name, in the tests' own process by hand and in child processes
through PYTHONPATH. What is tried all the same fails as on a machine without network, and is written into
the file that NO_NETWORK_LOG names, so that code which swallows the failure is found out too.
"""

import errno
import os
import socket
import sys
from typing import Any

LOG = "NO_NETWORK_LOG"
_HERE = frozenset(("", "localhost", "::1", "::", "0.0.0.0", "::ffff:127.0.0.1"))  # noqa: S104
_DIGITS = frozenset("0123456789.")
_SENDING = frozenset(("socket.connect", "socket.sendto", "socket.sendmsg"))
_ASKING = frozenset(
    ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo")
)


def is_here(host: object) -> bool:
    """Tell whether a host is this machine itself, by its name or a literal address."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host or "")
    name = name.lower().partition("%")[0]
    return name in _HERE or (name.startswith("127.") and set(name) <= _DIGITS)


def is_literal(host: object) -> bool:
    """Tell whether a host is an address already, which nobody needs to be asked about."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    if ":" in name or set(name) <= _DIGITS:
        return True
    try:
        return bool(socket.inet_aton(name))  # also in the forms that only the C library reads: 0x7f.1
    except OSError:
        return False


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise OSError for an audit event that would reach another machine; an audit hook."""
    if event in _SENDING:
        address = arguments[1]
        if not isinstance(address, tuple) or not address or isinstance(address[0], int):
            return  # a socket in the file system, of the kernel, or one that is connected already
        if is_here(address[0]):
            return
        host = address[0]
    elif event in _ASKING:
        host = arguments[0][0] if event == "socket.getnameinfo" else arguments[0]
        if is_here(host) or (is_literal(host) and event == "socket.getaddrinfo"):
            return
    else:
        return
    _note(f"{event} {host!r}")
    raise OSError(errno.ENETUNREACH, f"no network in tests: {event} {host!r}")


def _note(what: str) -> None:
    file = os.environ.get(LOG)
    if file:
        with open(file, "a", encoding="utf-8") as log:
            log.write(f"{what} by process {os.getpid()}: {' '.join(sys.argv)[:200]}\n")


sys.addaudithook(refuse)
