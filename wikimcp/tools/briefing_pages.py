"""Pages of a briefing: whole, in part with an outline and the call for the rest, or as a line that points."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.demotion import demoted
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Citation, Section
from wikimcp.retrieval.sizes import QUARTERS, quarters
from wikimcp.tools.briefing_result import Block, BriefingItem, Included, Origin
from wikimcp.tools.citing import CitationRow, citation_uri
from wikimcp.tools.page_parts import cut_at
from wikimcp.tools.page_rows import one_line, title_of
from wikimcp.tools.rendering import clip, compact_json, flatten, pairs, plain, row_line

BELOW = 3
"""Levels that headings of a page are set deeper: the title, the group and the item stand above them."""

_LONGEST_SUMMARY = 160
_LONGEST_HEADING = 120
_OUTLINE_SHARE = 3  # one part in so many of the room of a page goes to its outline
_LEAST_TEXT = 20 * QUARTERS


@dataclass(frozen=True, slots=True)
class Item:
    """A page in a briefing. ``lines`` are those of the file that are shown, (0, -1) for none."""

    page: PageRecord
    origin: Origin
    cluster: str
    included: Included
    block: Block
    row: BriefingItem
    lines: tuple[int, int] = (0, -1)

    def holds(self, rev: int, lines: tuple[int, int]) -> bool:
        """Whether these lines of a page are shown here."""
        if self.page.rev != rev or self.included == "pointer":
            return False
        return self.included == "full" or (self.lines[0] <= lines[0] and lines[1] <= self.lines[1])


class Pages:
    """Makes the items of one briefing. With ``uris`` each text comes with its ``cite://`` form."""

    def __init__(self, reading: Reading, *, uris: bool) -> None:
        self._reading = reading
        self._uris = uris

    def whole(self, page: PageRecord, origin: Origin, cluster: str = "", *, room: int) -> Item | None:
        """Return the page with all of its text; None when that takes more than ``room`` quarters.

        Raises Stale when the file has changed.
        """
        text, sections = self._reading.text(page), self._reading.sections(page)
        start, end = _body(text, sections)
        if end - start > room:  # a character is at least a quarter of a token
            return None
        citation = self._reading.cite(page, text, start, end, ())
        block = Block(
            f"{_title_line(page)}{self._facts(page, citation)}",
            (("", _demoted(page, text, start, end, sections)),),
        )
        if block.cost > room:
            return None
        row = _row(page, origin, cluster, "full", citation=citation, content=plain(text[start:end]))
        return Item(page, origin, cluster, "full", block, row, citation.lines)

    def stub_cost(self, page: PageRecord) -> int:
        """Return the quarters that a part of a page takes before it shows anything of the page's text."""
        return Block(self._partial_head(page, _WIDEST)).cost

    def part(self, page: PageRecord, origin: Origin, cluster: str = "", *, room: int) -> Item | None:
        """Return the outline and the leading sections within ``room`` quarters; None when nothing fits.

        Raises Stale when the file has changed.
        """
        text, sections = self._reading.text(page), self._reading.sections(page)
        start, end = _body(text, sections)
        if self.stub_cost(page) > room:
            return None
        left = room - self.stub_cost(page) - self._uri_cost(page)
        labels = quarters(f"{_OUTLINE}\n{_LEADING}\n") + 2 * _BOUNDS
        outline = _outline(text, sections, room=(left - labels) // _OUTLINE_SHARE)
        used = quarters("\n".join(outline)) if outline else 0
        cut = self._leading(page, (start, end), text, sections, room=left - labels - used)
        if cut - start < _LEAST_TEXT:  # a heading and a few words: the outline says as much
            cut = start
        citation = self._reading.cite(page, text, start, cut, ()) if cut > start else None
        outlined = ((_OUTLINE, "\n".join(outline)),) if outline else ()
        leading = ((_LEADING, _demoted(page, text, start, cut, sections)),) if citation else ()
        block = Block(self._partial_head(page, citation), (*outlined, *leading))
        if block.cost > room:  # a name that is encoded at length, say
            outline, citation, block = [], None, Block(self._partial_head(page, None))
        row = _row(
            page,
            origin,
            cluster,
            "partial",
            citation=citation,
            outline=outline or None,
            rest=_rest(page),
            content=plain(text[start:cut]) if citation else None,
        )
        return Item(page, origin, cluster, "partial", block, row, citation.lines if citation else (0, -1))

    def _leading(
        self, page: PageRecord, body: tuple[int, int], text: str, sections: Sequence[Section], *, room: int
    ) -> int:
        """Return where the leading part ends: behind a whole section, else at a border inside the first."""
        start, end = body
        if room < _LEAST_TEXT:
            return start

        def fits(cut: int) -> bool:
            cut = _trimmed(text, start, cut)
            return quarters(_demoted(page, text, start, cut, sections)) <= room

        ends = [section.own.end for section in sections if start < section.own.end < end]
        ends = ends[: bisect_right(ends, start + room)]  # a character is at least a quarter
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(ends[middle - 1]) else (low, middle - 1)
        whole = ends[low - 1] if low else start
        if whole - start > room // 2:
            return _trimmed(text, start, whole)
        borders = sorted(chunk.start for chunk in self._reading.body(page).chunks)
        used = quarters(_demoted(page, text, start, whole, sections))
        more = cut_at(text, whole, end, tokens=(room - used) // QUARTERS, borders=borders, outside=whole)
        best = more if more > whole and fits(more) else whole
        return _trimmed(text, start, best)

    def pointer(self, page: PageRecord, origin: Origin, cluster: str = "") -> Item:
        """Return the page as one line: handle, title, summary."""
        facts: dict[str, object] = {"page": flatten(f"{page.slug} @ {page.version}"), "title": title_of(page)}
        if summary := one_line(page.summary, _LONGEST_SUMMARY):
            facts["summary"] = summary
        if page.withheld:
            facts["draft"] = True
        line = f"- {row_line(facts)}"
        row = _row(page, origin, cluster, "pointer")
        return Item(page, origin, cluster, "pointer", Block(line), row)

    def _facts(self, page: PageRecord, citation: Citation | None) -> str:
        facts: dict[str, object] = {"title": title_of(page)}
        if citation is not None:
            facts["lines"] = f"{citation.lines[0]}-{citation.lines[1]}"
        if page.withheld:
            facts["draft"] = True
        if citation is not None and self._uris:
            facts["uri"] = citation_uri(citation)
        return f"{pairs(facts)}\n"

    def _uri_cost(self, page: PageRecord) -> int:
        return quarters(page.canonical_id) + 60 if self._uris else 0

    def _partial_head(self, page: PageRecord, citation: Citation | None) -> str:
        facts = self._facts(page, citation)
        return f"{_title_line(page)}{facts}in part; the rest: read_pages {compact_json(_rest(page))}\n"


_OUTLINE = "outline:"
_LEADING = "from its beginning:"
_BOUNDS = 54  # quarters of the two marks around a text and their line breaks
_WIDEST = Citation("", 0, "", (), (10**6, 10**6), "0" * 64)


def _title_line(page: PageRecord) -> str:
    return f"### {flatten(page.slug)} @ {page.version}\n"


def _rest(page: PageRecord) -> dict[str, object]:
    return {"slugs": [plain(page.slug)]}


def _row(page: PageRecord, origin: Origin, cluster: str, included: Included, **parts: object) -> BriefingItem:
    citation = parts.pop("citation", None)
    return BriefingItem.model_validate(
        {
            "slug": plain(page.slug),
            "canonical_id": plain(page.canonical_id),
            "title": title_of(page),
            "version": page.version,
            "summary": one_line(page.summary, _LONGEST_SUMMARY),
            "origin": origin,
            "cluster": one_line(cluster),
            "draft": True if page.withheld else None,
            "included": included,
            "citation": CitationRow.of(citation) if isinstance(citation, Citation) else None,
            **parts,
        }
    )


def _body(text: str, sections: Sequence[Section]) -> tuple[int, int]:
    """Return where the page's text begins and ends: behind the frontmatter, without blank lines around."""
    start = min((section.own.start for section in sections), default=0)
    end = _trimmed(text, start, len(text))
    while start < end and text[start] in "\r\n":
        start += 1
    return start, end


def _trimmed(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


def _demoted(page: PageRecord, text: str, start: int, end: int, sections: Sequence[Section]) -> str:
    if page.path.endswith(".org"):  # its headings are no markdown
        return plain(text[start:end])
    return plain(demoted(text, start, end, sections=sections, below=BELOW))


def demoted_span(page: PageRecord, text: str, span: tuple[int, int], sections: Sequence[Section]) -> str:
    """Return a span of a page as it stands in a briefing."""
    return _demoted(page, text, *span, sections)


def _outline(text: str, sections: Sequence[Section], *, room: int) -> list[str]:
    """Return the headings as a list with lines and sizes, as many as take at most ``room`` quarters."""
    headed = [section for section in sections if section.heading_path]
    top = min((section.level for section in headed), default=1)
    more = f"- and {len(headed)} more"
    lines: list[str] = []
    for number, section in enumerate(headed):
        span = section.subtree
        size = count_tokens(text[span.start : span.end])
        heading = clip(flatten(section.heading), _LONGEST_HEADING)
        indent = "  " * (section.level - top)
        line = f"{indent}- {heading} (lines {span.first_line}-{span.last_line}, {size} tokens)"
        reserve = quarters(more) + 1 if number + 1 < len(headed) else 0
        if quarters(line) + 1 + reserve > room:
            if room > quarters(more):
                lines.append(f"- and {len(headed) - number} more")
            break
        lines.append(line)
        room -= quarters(line) + 1
    return lines if len(lines) > 1 or (lines and not lines[0].startswith("- and ")) else []
