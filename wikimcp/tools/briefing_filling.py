"""Filling a briefing: the prompt's share, then pins, then clusters, and what is left to the prompt again.

All room is counted in quarters of a token (retrieval/sizes.py), so that the whole is exactly the sum
of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wikimcp.index.view import PageRecord, Reading
from wikimcp.retrieval.sizes import QUARTERS, quarters
from wikimcp.tools.briefing_names import Asked, AskedCluster
from wikimcp.tools.briefing_pages import Item, Pages
from wikimcp.tools.briefing_result import Block, Origin
from wikimcp.tools.briefing_sections import Picked, PromptSections
from wikimcp.tools.page_parts import share
from wikimcp.tools.rendering import clip, compact_json, flatten, plain

PROMPT_HEADING = "## For the prompt\n\n"
PINS_HEADING = "## Pinned\n\n"
HOT_HEADING = "## Recent\n\n"
_POINTERS = "pages to open with read_pages:"
_HOT_SHARE = 4  # one part in so many of the room may go to the hot page
_POINTER_SHARE = 5  # one part in so many of a cluster's room is kept for lines that point
_POINTER_COST = 40 * QUARTERS  # what such a line takes as a rule
_ESCAPED = 1.5  # the costs in the catalog are of JSON: line ends and quotes count twice there
_LEAST_POINTER = 4 * QUARTERS
_HUB_SHARE = 2  # a hub that does not fit whole takes at most one part in so many
_LEAST_PART = 100 * QUARTERS  # a part of a hub that is smaller than this is no use
_LONGEST_CLUSTER = 80


@dataclass(slots=True)
class FilledCluster:
    """What is shown of one cluster; ``unnamed`` pages have not even a line that points."""

    asked: AskedCluster
    shown: list[Item] = field(default_factory=list)
    pointers: list[Item] = field(default_factory=list)
    unnamed: int = 0
    named: bool = True

    def head(self) -> str:
        """Return its heading."""
        return _cluster_heading(self.asked)

    def pointer_block(self) -> Block | None:
        """Return the lines that point, and how to list the pages that have none."""
        more = _more_line(self.asked, self.unnamed) if self.unnamed and self.named else ""
        if not self.pointers:
            return Block(more) if more else None
        lines = "\n".join(item.block.head for item in self.pointers)
        return Block(f"{more}{_POINTERS}\n", (("", lines),))


@dataclass(slots=True)
class Filled:
    """A briefing as chosen: what goes where, in the order it is shown. ``held`` sections stand in items."""

    hot: Item | None = None
    sections: list[Picked] = field(default_factory=list)
    held: list[Picked] = field(default_factory=list)
    pins: list[Item] = field(default_factory=list)
    clusters: list[FilledCluster] = field(default_factory=list)
    left_out: list[PageRecord] = field(default_factory=list)

    @property
    def items(self) -> list[Item]:
        """All pages in the order they are shown."""
        hot = [self.hot] if self.hot else []
        of_clusters = [item for one in self.clusters for item in (*one.shown, *one.pointers)]
        return [*hot, *self.pins, *of_clusters]

    @property
    def unnamed(self) -> int:
        """How many pages that were asked for are not even named."""
        return len(self.left_out) + sum(one.unnamed for one in self.clusters)

    def blocks(self) -> list[Block]:
        """Return the blocks of the text in order."""
        blocks = [*_group(HOT_HEADING, [self.hot.block] if self.hot else [])]
        blocks += _group(PROMPT_HEADING, [section.block for section in self.sections])
        blocks += _group(PINS_HEADING, _pin_blocks(self.pins))
        for one in self.clusters:
            pointers = one.pointer_block()
            shown = [item.block for item in one.shown]
            blocks += _group(one.head(), [*shown, *([pointers] if pointers else [])])
        return blocks


def _group(heading: str, blocks: Sequence[Block]) -> list[Block]:
    """Return blocks under a heading; a heading with nothing under it is left out."""
    if not blocks:
        return []
    return [Block(f"{heading}{blocks[0].head}", blocks[0].texts), *blocks[1:]]


def _pin_blocks(pins: Sequence[Item]) -> list[Block]:
    """Return the blocks of pins, those that are only pointed at together at the end."""
    blocks = [item.block for item in pins if item.included != "pointer"]
    if lines := [item.block.head for item in pins if item.included == "pointer"]:
        blocks.append(Block(f"{_POINTERS}\n", (("", "\n".join(lines)),)))
    return blocks


class Filling:
    """Fills ``room`` quarters; ``uris`` tells whether each text comes with its ``cite://`` form."""

    def __init__(self, reading: Reading, asked: Asked, *, room: int, uris: bool) -> None:
        self._reading = reading
        self._asked = asked
        self._left = room
        self._pages = Pages(reading, uris=uris)
        self._filled = Filled()

    def fill(self, sections: PromptSections | None, *, hot: PageRecord | None, prompt_share: float) -> Filled:
        """Return what goes into the briefing. Raises Stale when a page moved on."""
        filled, asked = self._filled, self._asked
        if hot is not None:
            self._fill_hot(hot)
        if sections is not None:
            self._left -= quarters(PROMPT_HEADING)
        if asked.pins:
            self._left -= quarters(PINS_HEADING)
        if sections is not None:
            beside = bool(asked.pins or asked.clusters)
            room = int(self._left * prompt_share) if beside else self._left
            filled.sections, filled.held = sections.pick(room, filled.items)
            self._left -= sum(section.cost for section in filled.sections)
        reserves = self._reserve_clusters()
        self._fill_pins()
        for cluster, reserve in zip(asked.clusters, reserves, strict=True):
            self._left += reserve
            filled.clusters.append(self._fill_cluster(cluster))
        if sections is not None and (filled.items or asked.pins or asked.clusters):
            self._left += sum(section.cost for section in filled.sections)
            filled.sections, filled.held = sections.pick(self._left, filled.items)
        return filled

    def _fill_hot(self, page: PageRecord) -> None:
        room = self._left // _HOT_SHARE - quarters(HOT_HEADING)
        item = self._pages.whole(page, "hot", room=room) or self._pages.part(page, "hot", room=room)
        if item is not None and item.row.content is not None:
            self._filled.hot = item
            self._left -= item.block.cost + quarters(HOT_HEADING)

    def _reserve_clusters(self) -> list[int]:
        """Set aside what each cluster needs to be named at all, and return how much for each."""
        reserves = []
        for cluster in self._asked.clusters:
            reserve = min(_least_of_cluster(cluster), max(self._left, 0))
            reserves.append(reserve)
            self._left -= reserve
        return reserves

    # Pins

    def _fill_pins(self) -> None:
        """Take every pin that fits whole, in order; the others share what is left."""
        items: dict[str, Item] = {}
        parts: list[tuple[PageRecord, int]] = []
        for page in self._asked.pins:
            item = self._taken_whole(page, "pin")
            if item is not None:
                items[page.slug] = item
            elif (stub := self._pages.stub_cost(page) + 4 * QUARTERS) <= self._left:
                parts.append((page, stub))
                self._left -= stub
            elif (pointer := self._pages.pointer(page, "pin")).block.cost <= self._left - _POINTER_ROOM:
                items[page.slug] = pointer
                self._left -= pointer.block.cost
                self._set_pointer_room_aside(items)
            else:
                self._filled.left_out.append(page)
        grants = share(max(self._left, 0), [QUARTERS * page.size for page, _ in parts])
        for (page, stub), grant in zip(parts, grants, strict=True):
            self._left += stub
            item = self._pages.part(page, "pin", room=stub + grant)
            if item is None:
                self._filled.left_out.append(page)
                continue
            items[page.slug] = item
            self._left -= item.block.cost
        self._filled.pins = [items[page.slug] for page in self._asked.pins if page.slug in items]

    def _set_pointer_room_aside(self, items: dict[str, Item]) -> None:
        if sum(item.included == "pointer" for item in items.values()) == 1:
            self._left -= _POINTER_ROOM

    def _taken_whole(
        self, page: PageRecord, origin: Origin, cluster: str = "", *, reserve: int = 0
    ) -> Item | None:
        """Return the page whole if it fits, and take the prompt's sections out that it holds."""
        freed = [section for section in self._filled.sections if section.span.page.rev == page.rev]
        room = self._left - reserve + sum(section.cost for section in freed)
        item = self._pages.whole(page, origin, cluster, room=room) if self._may_fit(page, room) else None
        if item is not None:
            self._filled.sections = [one for one in self._filled.sections if one not in freed]
            self._left += sum(section.cost for section in freed) - item.block.cost
        return item

    def _may_fit(self, page: PageRecord, room: int) -> bool:
        """Tell from the catalog whether it is worth reading a page: its text escaped is not much longer."""
        shape = self._reading.outlines([page.rev]).get(page.rev)
        return shape is None or int(shape.text_cost.sum()) <= room * _ESCAPED

    # Clusters

    def _fill_cluster(self, asked: AskedCluster) -> FilledCluster:
        """Take the pages that fit whole, in order; the others become lines that point."""
        filled = FilledCluster(asked)
        known = {item.page.slug for item in self._filled.items}
        pages = [page for page in asked.pages if page.slug not in known]
        rest = asked.total - len(asked.pages)
        if not pages and not rest:
            return filled
        least = _least_of_cluster(asked)
        if least > self._left:
            filled.named, filled.unnamed = False, len(pages) + rest
            return filled
        self._left -= least
        name = asked.cluster.name
        most = max(self._left, 0) // _POINTER_SHARE
        self._reading.outlines([page.rev for page in pages])  # all at once
        others: list[PageRecord] = []
        for at, page in enumerate(pages):
            is_hub = page is asked.cluster.hub
            waiting = len(others) + len(pages) - at - 1
            reserve = 0 if is_hub else min(waiting * _POINTER_COST, most)
            item = self._taken_whole(page, "cluster", name, reserve=reserve)
            if item is None and is_hub:
                item = self._part_of_hub(page, name)
            if item is None:
                others.append(page)
            else:
                filled.shown.append(item)
        filled.pointers = self._pointers(others, name)
        filled.unnamed = len(others) - len(filled.pointers) + rest
        return filled

    def _part_of_hub(self, page: PageRecord, cluster: str) -> Item | None:
        room = self._left // _HUB_SHARE
        if room < _LEAST_PART:
            return None
        item = self._pages.part(page, "cluster", cluster, room=room)
        if item is None or item.row.content is None:
            return None
        self._left -= item.block.cost
        return item

    def _pointers(self, pages: Sequence[PageRecord], cluster: str) -> list[Item]:
        """Return lines that point to the first pages, as many as fit."""
        kept: list[Item] = []
        left = self._left - _POINTER_ROOM
        for page in pages:
            if left < _LEAST_POINTER:
                break
            pointer = self._pages.pointer(page, "cluster", cluster)
            if pointer.block.cost > left:
                break
            left -= pointer.block.cost
            kept.append(pointer)
        if kept:
            self._left = left
            self._reading.touch(item.page for item in kept)
        return kept


_POINTER_ROOM = Block(f"{_POINTERS}\n", (("", ""),)).cost


def _cluster_heading(asked: AskedCluster) -> str:
    name = clip(flatten(asked.cluster.name), _LONGEST_CLUSTER)
    pages = "1 page" if asked.total == 1 else f"{asked.total} pages"
    return f"## Cluster {name}: {pages}\n\n"


def _least_of_cluster(asked: AskedCluster) -> int:
    """Return the quarters of its heading and of the line that says how to list its pages."""
    return quarters(_cluster_heading(asked)) + quarters(_more_line(asked, asked.total)) + 1


def _more_line(asked: AskedCluster, count: int) -> str:
    call = compact_json({"cluster": plain(asked.cluster.name)})
    return f"{count} not shown here: list_pages {call}\n"
