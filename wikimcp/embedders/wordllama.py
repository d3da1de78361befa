"""Member ``wordllama``: static token vectors from the wordllama wheel, averaged. Always there, no download.

Only the data files of the wheel are used, never its package (importing it is slow, sets up logging
and looks for its tokenizer on the network). A text is cut into pieces that the tokenizer would never
join, and the token ids of each piece are remembered: words repeat, so tokenising is mostly a lookup.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wikimcp.embedders.weights import fingerprint, let_go, map_tensors
from wikimcp.errors import Unavailable
from wikimcp.ports import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

THRESHOLDS = (0.55, 0.43)  # cosines for strong and partial coverage

DIMENSION = 256
WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
TENSOR = "embedding.weight"

TEXTS_AT_ONCE = 256
TOKENS_AT_ONCE = 4096  # 4 MB of gathered vectors, however long one text is
ROWS_AT_ONCE = 2048
TEXTS_BETWEEN_RESTS = 16  # a question brings about 0.3 MB of the file along
CACHED_CHARACTERS = 1_000_000  # of pieces; about 120,000 of them, 20 MB

# Where no token of the vocabulary reaches across, a cut changes nothing (a test checks every token):
# a run of letters or of signs with the spaces before it; digits and East Asian characters singly.
_SINGLE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_PIECE = re.compile(
    rf" *+(?:[^\W\d_²{_SINGLE}]+|(?:[^\w ]+|[_²]+)+)"  # letters, or signs (² stands among them)
    r"| +|\w"
)

Tokens = NDArray[np.uint16]


class WordLlamaEmbedder:
    """Embedder over wordllama's table of 32,000 x 256; the files are read at the first call.

    Safe to call from several threads. Raises Unavailable when the wheel's files are not installed.
    """

    dimension = DIMENSION
    thresholds = THRESHOLDS

    def __init__(self) -> None:
        folder = _locate()
        self._weights, self._tokenizer = folder / WEIGHTS, folder / TOKENIZER
        try:
            self.name = f"wordllama-l2-{DIMENSION}-{fingerprint([self._weights, self._tokenizer])}"
        except OSError as error:
            raise _unreadable() from error
        self._embedded = 0
        self._lock = Lock()
        self._parts: tuple[PieceTokenizer, TokenTable] | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 ``(len(texts), 256)``: the mean of each text's token vectors, length 1.

        A text without a token has a zero row. Raises Unavailable when the files cannot be read.
        """
        return self.embed_with_tokens(texts)[0]

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]]:
        """Return what ``embed`` and ``token_ids`` return, for the work of one of them."""
        tokenizer, table = self._load()
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        ids: list[Tokens] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            tokens = tokenizer.encode(texts[start : start + TEXTS_AT_ONCE])
            table.add_up(tokens, vectors[start : start + TEXTS_AT_ONCE])
            ids += map(np.unique, tokens)
        self._embedded += len(texts)
        if self._embedded >= TEXTS_BETWEEN_RESTS:
            self._embedded = 0
            table.rest()
        return _unit(vectors), ids

    def embed_query(self, text: str) -> Vectors:
        """Return float32 ``(256,)``; questions and passages are embedded alike."""
        vector: Vectors = self.embed([text])[0]
        return vector

    def token_ids(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the distinct token ids of each text, sorted."""
        tokenizer, _ = self._load()
        ids: list[Tokens] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            ids += map(np.unique, tokenizer.encode(texts[start : start + TEXTS_AT_ONCE]))
        return ids

    def token_vectors(self, dimensions: int) -> Vectors:
        """Return the table's leading ``dimensions`` (the vectors are Matryoshka) by token id.

        float32 ``(32000, dimensions)``, rows of length 1, or 0 where a token has no vector. Raises
        ValueError unless ``dimensions`` is 1 to 256.
        """
        if not 1 <= dimensions <= DIMENSION:
            raise ValueError(f"a token vector has 1 to {DIMENSION} dimensions, not {dimensions}")
        _, table = self._load()
        return table.units(dimensions)

    def _load(self) -> tuple[PieceTokenizer, TokenTable]:
        if self._parts is None:
            with self._lock:
                if self._parts is None:
                    self._parts = self._read()
        return self._parts

    def _read(self) -> tuple[PieceTokenizer, TokenTable]:
        from tokenizers import Tokenizer

        try:
            table = map_tensors(self._weights)[TENSOR]
            tokenizer = Tokenizer.from_file(str(self._tokenizer))
        except Exception as error:  # the tokenizers library raises bare Exception
            raise _unreadable() from error
        rows = table.shape[0]
        if table.shape[1:] != (DIMENSION,) or not tokenizer.get_vocab_size() <= rows <= 1 << 16:
            raise _unreadable()
        return PieceTokenizer(tokenizer), TokenTable(table)


class PieceTokenizer:
    """Token ids of texts, equal to the tokenizer's own but for text that spells a control token."""

    def __init__(self, tokenizer: Tokenizer, *, room: int = CACHED_CHARACTERS) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.normalizer = None  # what it did to a text's start must not be done to every piece
        self._tokenizer = tokenizer
        self._cache: dict[str, bytes] = {}
        self._room = room

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the ids of each text as uint16."""
        pieces = [split(text) for text in texts]
        ids = self._ids(set().union(*pieces))
        joined = [b"".join(map(ids.__getitem__, own)) for own in pieces]
        return [np.frombuffer(own, dtype=np.uint16) for own in joined]

    def _ids(self, pieces: set[str]) -> dict[str, bytes]:
        """Return the ids of each piece, remembering them while there is room.

        A full cache keeps what it has: the common words came early.
        """
        cache = self._cache
        ids = {piece: cache[piece] for piece in pieces if piece in cache}
        new = [piece for piece in pieces if piece not in ids]
        if not new:
            return ids
        plain = [piece.replace(" ", "\u2581").encode("utf-8", "replace").decode() for piece in new]
        encodings = self._tokenizer.encode_batch_fast(plain, add_special_tokens=False)
        fresh = {piece: array("H", own.ids).tobytes() for piece, own in zip(new, encodings, strict=True)}
        if self._room > 0:
            self._room -= sum(map(len, new))
            cache.update(fresh)
        return ids | fresh


class TokenTable:
    """The vectors by token id, in half precision as they lie in the mapped file.

    Only the rows that a batch needs are widened, so the table costs no memory of its own and all
    processes share one copy of the file.
    """

    def __init__(self, half: NDArray[Any]) -> None:
        self._half = half

    def units(self, dimensions: int) -> Vectors:
        """Return a widened copy of the leading dimensions of every row, scaled to length 1.

        Block by block: lengths of all rows at once would take twice the copy's own memory beside it.
        """
        vectors = np.empty((len(self._half), dimensions), np.float32)
        for start in range(0, len(vectors), ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            vectors[block] = _unit(self._half[block, :dimensions].astype(np.float32))
        self.rest()
        return vectors

    def rest(self) -> None:
        """Take the file out of memory after much of it was read: with a row come all around it."""
        let_go(self._half)

    def add_up(self, tokens: Sequence[Tokens], sums: Vectors) -> None:
        """Add the vectors of each text's tokens to its row of ``sums``."""
        used = np.zeros(len(self._half), dtype=bool)
        for own in tokens:
            used[own] = True
        ids = np.flatnonzero(used)
        vectors = self._half[ids].astype(np.float32)
        place = np.zeros(len(self._half), dtype=np.intp)
        place[ids] = np.arange(ids.size)
        for own, row in zip(tokens, sums, strict=True):
            for start in range(0, own.size, TOKENS_AT_ONCE):
                row += vectors.take(place[own[start : start + TOKENS_AT_ONCE]], axis=0).sum(axis=0)


def _unit(vectors: Vectors) -> Vectors:
    """Scale the rows to length 1, in place; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors


def split(text: str) -> list[str]:
    """Cut a text into pieces whose tokens, joined, are the tokens of the whole.

    The tokenizer puts a space before the first word and takes U+2581 for a space.
    """
    return _PIECE.findall(" " + text.replace("\u2581", " ")) if text else []


def _locate() -> Path:
    """Return the folder of the installed wordllama package, without importing it."""
    spec = find_spec("wordllama")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if Path(folder, WEIGHTS).is_file() and Path(folder, TOKENIZER).is_file():
            return Path(folder)
    raise Unavailable("the wordllama weights are not installed", hint="pip install wordllama")


def _unreadable() -> Unavailable:
    return Unavailable(
        "the wordllama weights cannot be read", hint="pip install --force-reinstall --no-deps wordllama"
    )
