"""Giving memory back to the system after work that took much of it once."""

from __future__ import annotations

import ctypes
from contextlib import suppress

from wikimcp.lexical.vocabulary import forget_words


def give_back() -> None:
    """Let go of what a build has left behind, and return free memory to the system.

    The allocator keeps the room of freed arrays and of a finished writer for itself, in each thread's own
    share: a server that built its index would hold tens of megabytes more than one that only loaded it.
    Where the C library knows no such call, nothing is returned.
    """
    forget_words()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
