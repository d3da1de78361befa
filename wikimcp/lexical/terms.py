"""What the terms of a query weigh, and what goes wrong in a lexical index; nothing of the library itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from wikimcp.errors import StateError
from wikimcp.lexical.words import STOP_WORDS

T = TypeVar("T")
_MOST_KNOWN = 20_000  # tokens


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query: as typed, unstemmed, stemmed; how many pages hold it, and its idf among them."""

    surface: str
    exact: str
    stem: str
    pages: int
    idf: float


def is_content(word: str) -> bool:
    """Single letters are noise but for the names of languages; digits count."""
    return word not in STOP_WORDS and (len(word) > 1 or word.isdigit() or word in "cr")


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Raise failures of tantivy, and panics on damaged files, as StateError."""
    try:
        yield
    except StateError:
        raise
    except (ValueError, OSError, LookupError) as error:
        raise StateError(f"the lexical index cannot be {what} ({first_line(error)})") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise StateError(f"the lexical index cannot be {what}: it is damaged") from error


def utf8(text: str) -> str:
    """Return a text without lone surrogates, which no index can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def idf(frequency: float, total: int) -> float:
    """BM25's inverse document frequency, as Lucene and tantivy compute it."""
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def remembered(known: dict[tuple[str, str], T], key: tuple[str, str], count: Callable[[], T]) -> T:
    """Return what is known of a token of a field; counted where it is not, and kept."""
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST_KNOWN:
            known.clear()
        found = known[key] = count()
    return found


def first_line(error: Exception) -> str:
    """Return the first line of an error, cut to 200 characters."""
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
