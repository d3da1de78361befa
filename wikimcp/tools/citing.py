"""Citations as they go on the wire."""

from __future__ import annotations

from typing import Self

from wikimcp.citations.uri import make_cite_uri
from wikimcp.models import Citation
from wikimcp.tools.contract import Wire
from wikimcp.tools.rendering import plain


class CitationRow(Wire):
    """Where a text stands and how to find it again; ``lines`` are first and last, inclusive."""

    handle: str
    uri: str
    slug: str
    version: int
    canonical_id: str
    heading_path: list[str]
    lines: list[int]
    span_sha256: str

    @classmethod
    def of(cls, citation: Citation) -> Self:
        """Make the wire form of a citation."""
        return cls.model_construct(
            handle=plain(citation.handle),
            uri=citation_uri(citation),
            slug=plain(citation.slug),
            version=citation.version,
            canonical_id=plain(citation.canonical_id),
            heading_path=[plain(heading) for heading in citation.heading_path],
            lines=list(citation.lines),
            span_sha256=citation.span_sha256,
        )


def citation_uri(citation: Citation) -> str:
    """Return the ``cite://`` form of a citation (citations/uri.py says what is in it)."""
    return make_cite_uri(
        citation.canonical_id,
        citation.heading_path,
        version=citation.version,
        span_sha256=citation.span_sha256,
        place=citation.place,
    )
