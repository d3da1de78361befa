"""A page as the documents of a lexical index: one of the whole page, one of each chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wikimcp.lexical.words import cjk_tokens, readable
from wikimcp.ports import LexicalPage


def page_document(page: LexicalPage) -> dict[str, Any]:
    """Return the fields of a whole page."""
    names = (page.title, readable(_slug(page)), page.summary, *page.tags, *page.aliases, page.cluster)
    body = "\n".join(chunk.text for chunk in page.chunks)
    document: dict[str, Any] = {"rev": page.rev, "all": f"{' . '.join(names)} . {body}", "exact": body}
    if page.cjk:
        document["cjk"] = " ".join(cjk_tokens(document["all"]))
    return document


def chunk_documents(page: LexicalPage) -> Iterator[dict[str, Any]]:
    """Yield the fields of each chunk, in the context of its page."""
    meta = " . ".join((page.summary, *page.tags, *page.aliases, page.cluster))
    slug = _slug(page)
    first = page.rev << 16
    for ordinal, chunk in enumerate(page.chunks):
        path = chunk.heading_path[1:] if chunk.heading_path[:1] == (page.title,) else chunk.heading_path
        heads = " . ".join((page.title, *path))
        document: dict[str, Any] = {
            "rev": page.rev,
            "chunk": first | ordinal,
            "heads": heads,
            "meta": meta,
            "body": chunk.text,
            "exact": f"{heads} . {chunk.text}",
        }
        if chunk.identifiers:
            document["ident"] = chunk.identifiers
        if page.cjk:
            document["cjk"] = " ".join(cjk_tokens(f"{slug} {heads} {meta} {chunk.text}"))
        yield document


def _slug(page: LexicalPage) -> str:
    return page.path.rsplit(".", 1)[0]
