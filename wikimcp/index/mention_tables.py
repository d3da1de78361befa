"""Where the pages of a view name the nodes of its graph: found page by page, and kept by content.

The tables go on from view to view and, in a file beside the index, from start to start: an edit of one page
looks through that page, a name that is new through the pages that hold its words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Protocol

from wikimcp.graph.knowledge import KnowledgeGraph
from wikimcp.graph.mentions import MentionAutomaton, Mentions, meanings_of, mentions_in, words_of
from wikimcp.index.catalog import translated
from wikimcp.index.mention_file import FoundMentions, MentionFile, PageMentions, WordHashes, word_hashes
from wikimcp.index.page_record import PageRecord
from wikimcp.index.records import chunks_from_cell
from wikimcp.index.snapshot import Snapshot
from wikimcp.markdown.tokens import visible_text
from wikimcp.models import Audience
from wikimcp.ports import VaultAdapter

MOST_MENTION_TEXT = 100_000_000
"""Characters that are looked through for mentions; in a larger vault the pages behind are left out."""

_UNWRITTEN = 0.02  # share of pages; so many are looked through again at the next start


class TextPart(Protocol):
    """What is read of a view for its mentions."""

    snapshot: Snapshot
    adapter: VaultAdapter
    audience: Audience

    @property
    def pages(self) -> Sequence[PageRecord]:
        """View pages by path."""

    @property
    def by_rev(self) -> Mapping[int, PageRecord]:
        """View pages by rev."""


class MentionTables:
    """What was found for one audience. Not safe for several threads at once."""

    def __init__(self, previous: MentionTables | None = None) -> None:
        self._names: object = previous._names if previous else None
        self._found: FoundMentions | None = previous._found if previous else None
        self._unwritten: int = previous._unwritten if previous else 0

    def find(self, graph: KnowledgeGraph, view: TextPart) -> Mentions:
        """Return where the texts of the visible pages name the nodes of a graph."""
        file = MentionFile(view.snapshot.catalog.folder)
        audience = "" if view.audience.labels else json.dumps(view.audience.drafts)
        if self._found is None and audience:
            self._found = file.read(audience)
        meanings = self._meanings(graph, view)
        known = self._still_true(meanings, file)
        found: dict[int, PageMentions] = {}
        words: dict[int, bytes] = {}
        automaton, hashes = None, WordHashes()
        looked_at, complete = _first_pages(view.pages)
        for page in looked_at:
            mentions = known.get(page.rev)
            if mentions is None:
                chunks = _chunk_words(page, view)
                if chunks is None:
                    continue  # it changed on disk since; the next snapshot has it
                automaton = automaton or MentionAutomaton(meanings)
                mentions = mentions_in(automaton, chunks)
                words[page.rev] = word_hashes(chain.from_iterable(chunks), hashes)
            found[page.rev] = mentions
        self._found = FoundMentions(meanings, found)
        self._keep(words, file, audience=audience, view=view)
        by_rev = view.by_rev
        return Mentions({by_rev[rev].slug: chunks for rev, chunks in found.items()}, complete=complete)

    def _meanings(self, graph: KnowledgeGraph, view: TextPart) -> Mapping[str, str]:
        """Return what the names mean; taken over while they are those of the graph before."""
        if self._found is not None and self._names is graph.names:
            return self._found.meanings
        self._names = graph.names
        copies = {f"page:{page.slug}" for page in view.pages if page.conflict_copy}
        names = {
            name: [node for node in ids if node not in copies] if copies else ids
            for name, ids in graph.names.items()
            if not name.startswith(("http://", "https://"))
        }
        return meanings_of(names)

    def _still_true(self, meanings: Mapping[str, str], file: MentionFile) -> Mapping[int, PageMentions]:
        """Return what was found before on pages where no name that means another now can stand."""
        if self._found is None:
            return {}
        before, found = self._found.meanings, self._found.by_rev
        if before is meanings:
            return found
        names = [name for name in before.keys() | meanings.keys() if before.get(name) != meanings.get(name)]
        if not names:
            return found
        self._unwritten = len(found)  # what is kept is of other names
        doubtful = file.pages_with(names, found)
        return {rev: mentions for rev, mentions in found.items() if rev not in doubtful}

    def _keep(self, words: Mapping[int, bytes], file: MentionFile, *, audience: str, view: TextPart) -> None:
        if words:
            file.add_words(words, live={record.rev for record in view.snapshot.records.values()})
        self._unwritten += len(words)
        if audience and self._found is not None and self._unwritten > _UNWRITTEN * len(self._found.by_rev):
            file.write(audience, self._found)
            self._unwritten = 0


def _first_pages(pages: Sequence[PageRecord]) -> tuple[Sequence[PageRecord], bool]:
    """Return the pages, by path, that are not too much text together, and whether that is all of them."""
    room = MOST_MENTION_TEXT
    for at, page in enumerate(pages):
        room -= page.size
        if room < 0:
            return pages[:at], False
    return pages, True


def _chunk_words(page: PageRecord, view: TextPart) -> list[list[str]] | None:
    """Return the words of each chunk of a page; None when the page is not as it was indexed any more."""
    try:
        content = view.adapter.read(page.path)
    except OSError:
        return None
    cells = view.snapshot.catalog.chunk_cells([page.rev])
    if content.content_hash != page.content_hash or page.rev not in cells:
        return None
    chunks, rest = cells[page.rev]
    with translated():
        hidden = [(start, end) for start, end in json.loads(rest).get("hidden", ())]
        return [
            words_of(visible_text(content.text, chunk.start, chunk.end, hidden=hidden))
            for chunk in chunks_from_cell(chunks)
        ]
