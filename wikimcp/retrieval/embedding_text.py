"""What is embedded for a chunk: its text in the context of its page, so that it stands by itself."""

from __future__ import annotations

from hashlib import blake2b

# Part of every chunk key: a new recipe makes new keys, so old vectors are never used for it.
RECIPE = b"1"


def contextual_text(
    *, title: str, cluster: str, heading_path: tuple[str, ...], summary: str, text: str
) -> str:
    """Return title, cluster, headings, summary and then the chunk, one part a line."""
    headings = " > ".join([part for part in heading_path if part != title])
    return "\n".join(filter(None, (title, cluster.replace("-", " "), headings, summary, text)))


def chunk_key(contextual: str) -> bytes:
    """Return the 8-byte identity of an embedded text: equal text, equal key, one vector."""
    return blake2b(contextual.encode("utf-8", "surrogatepass"), digest_size=8, key=RECIPE).digest()
