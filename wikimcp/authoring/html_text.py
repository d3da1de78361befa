"""HTML to text: what a reader of the page would see, with its headings, lists, tables, links and code.

Scripts, styles, menus and what is hidden are left out; nothing is run or loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from urllib.parse import urljoin

_NO_TEXT = """
    script style noscript template svg math iframe object embed applet canvas audio video select datalist
    dialog button nav
"""
_EMPTY = "area base br col embed hr img input link meta param source track wbr"
_APART = """
    address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header
    html legend main ol p section summary table tbody tfoot thead tr ul
"""
_DROPPED, _VOID, _BLOCKS = frozenset(_NO_TEXT.split()), frozenset(_EMPTY.split()), frozenset(_APART.split())
_UNCLOSED: Mapping[str, frozenset[str]] = {  # elements that may stay open, and what closes them
    "p": frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "hr")) | _BLOCKS - {"li"},
    "li": frozenset(("li",)),
    **dict.fromkeys(("td", "th"), frozenset(("td", "th", "tr"))),
    "tr": frozenset(("tr",)),
    **dict.fromkeys(("dd", "dt"), frozenset(("dd", "dt"))),
}
_ENDS_ROW = frozenset(("tr", "thead", "tbody", "tfoot", "table"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_CHARSET = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")
_MANY_LINES = re.compile(r"\n{3,}")
_SAFE_LINK = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
_DEEPEST = 400  # open elements; what is deeper is read as if it were closed
Attributes = Sequence[tuple[str, str | None]]


def declared_charset(data: bytes) -> str:
    """Return the charset that a document names in its first bytes; empty when it names none."""
    found = _CHARSET.search(data[:4096])
    return found[1].decode("ascii").lower() if found else ""


def html_to_text(text: str, *, base: str = "") -> tuple[str, str]:
    """Return (markdown, title) of a document; relative links are joined to ``base`` where it is given."""
    reader = _Reader(base)
    reader.feed(text)
    reader.close()
    return reader.markdown(), reader.title


class _Reader(HTMLParser):
    """Writes markdown as elements open and close. Unclosed and misnested elements cost nothing but form."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._out: list[str] = []
        self._hidden: list[str] = []  # elements that are open from the hidden one on
        self._lists: list[int] = []  # 0 for bullets, else the next number
        self._links: list[tuple[str, int]] = []
        self._cells: list[str] | None = None
        self._cell_from = 0
        self._rows = 0
        self._code = 0
        self._title: list[str] | None = None
        self.title = ""

    def markdown(self) -> str:
        """Return what was written, blank lines brought down to one."""
        if self._cells is not None:
            self._end_row()
        if self._code:
            self._out.append("\n```\n")
        text = "".join(self._out)
        lines = [line.rstrip() for line in text.split("\n")]
        return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip() + "\n"

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        """Open an element."""
        if tag == "title" and not self.title and not self._hidden:
            self._title = []
            return
        if self._hidden and not self._closes_hidden(tag):
            if tag not in _VOID and len(self._hidden) < _DEEPEST:
                self._hidden.append(tag)
            return
        given = dict(attrs)
        if tag in _DROPPED or _is_hidden(given):
            if tag not in _VOID:
                self._hidden.append(tag)
            return
        if tag in _HEADINGS:
            self._block()
            self._out.append("#" * _HEADINGS[tag] + " ")
        elif tag in ("ul", "ol") and len(self._lists) < _DEEPEST:
            self._block()
            self._lists.append(1 if tag == "ol" else 0)
        elif tag == "li":
            self._item()
        elif tag == "pre":
            self._block()
            self._out.append("```\n")
            self._code += 1
        elif tag == "a":
            self._links.append((self._target(given.get("href")), len(self._out)))
        else:
            self._inline(tag, given)

    def _inline(self, tag: str, given: dict[str, str | None]) -> None:
        if tag == "br":
            self._out.append("\n")
        elif tag == "hr":
            self._block()
            self._out.append("---\n\n")
        elif tag == "img" and (said := (given.get("alt") or "").strip()):
            self._out.append(f"[image: {_BLANKS.sub(' ', said)}]")
        elif tag == "code" and not self._code:
            self._out.append("`")
        elif tag == "tr":
            if self._cells is not None:
                self._end_row()
            self._cells = []
            self._cell_from = len(self._out)
        elif tag in ("td", "th"):
            self._end_cell()
        elif tag in _BLOCKS:
            self._rows = 0 if tag == "table" else self._rows
            self._block()

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        if tag == "title" and self._title is not None:
            self.title = _BLANKS.sub(" ", "".join(self._title)).strip()
            self._title = None
        elif not self._hidden or self._leaves_hidden(tag):
            self._close(tag)

    def _close(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            if self._lists:
                self._lists.pop()
            self._block()
        elif tag == "pre" and self._code:
            self._code -= 1
            self._out.append("" if self._out and self._out[-1].endswith("\n") else "\n")
            self._out.append("```\n\n")
        elif tag == "code" and not self._code:
            self._out.append("`")
        elif tag == "a" and self._links:
            self._end_link()
        elif tag in ("td", "th"):
            self._end_cell()
        elif tag in _ENDS_ROW and self._cells is not None:
            self._end_row()
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._block()

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        """Open and close an element that is written ``<a/>``."""
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._title is not None:
            self._title.append(data)
        elif self._hidden:
            return
        elif self._code:
            self._out.append(data.replace("\r\n", "\n").replace("\r", "\n"))
        else:
            line = _BLANKS.sub(" ", data)
            at_start = not self._out or self._out[-1].endswith(("\n", " "))
            self._out.append(line.lstrip() if at_start else line)

    def _closes_hidden(self, tag: str) -> bool:
        """Whether an element that opens ends the hidden one, which may stay without an end of its own."""
        if len(self._hidden) > 1 or tag not in _UNCLOSED.get(self._hidden[0], ()):
            return False
        self._hidden.clear()
        return True

    def _leaves_hidden(self, tag: str) -> bool:
        """Take the end of an element within a hidden one; tell whether it is that of one around both."""
        if tag in self._hidden:
            del self._hidden[len(self._hidden) - 1 - self._hidden[::-1].index(tag) :]
            return False
        if tag not in _BLOCKS or self._hidden[0] not in _UNCLOSED:
            return False
        self._hidden.clear()
        return True

    def _block(self) -> None:
        if self._cells is not None:
            self._out.append(" ")
        elif self._out and not "".join(self._out[-2:]).endswith("\n\n"):
            self._out.append("\n\n")

    def _item(self) -> None:
        self._out.append("\n" if self._out and not self._out[-1].endswith("\n") else "")
        depth = max(len(self._lists) - 1, 0)
        mark = "-"
        if self._lists and self._lists[-1]:
            mark = f"{self._lists[-1]}."
            self._lists[-1] += 1
        self._out.append(f"{'  ' * min(depth, 20)}{mark} ")

    def _end_link(self) -> None:
        target, start = self._links.pop()
        label = "".join(self._out[start:]).strip()
        if target and label and "\n" not in label and "](" not in label:
            lead = " " if self._out[start].startswith(" ") else ""
            self._out[start:] = [f"{lead}[{label}]({target})"]

    def _end_cell(self) -> None:
        if self._cells is None:
            return
        text = _BLANKS.sub(" ", "".join(self._out[self._cell_from :])).strip()
        del self._out[self._cell_from :]
        if text:
            self._cells.append(text.replace("|", "\\|"))

    def _end_row(self) -> None:
        self._end_cell()
        cells, self._cells = self._cells or [], None
        if cells:
            self._out.append(f"| {' | '.join(cells)} |\n")
            if not self._rows:
                self._out.append(f"|{' --- |' * len(cells)}\n")
            self._rows += 1

    def _target(self, href: str | None) -> str:
        """Return where a link leads, of the kinds that lead somewhere; never a script."""
        written = (href or "").strip()
        if not written or written.startswith("#"):
            return ""
        try:
            full = urljoin(self._base, written) if self._base else written
        except ValueError:
            return ""
        if not _SAFE_LINK.match(full) and (":" in full.split("/", 1)[0] or self._base):
            return ""
        return re.sub(r"[\s()<>]", lambda mark: f"%{ord(mark[0]) & 0xFF:02X}", full)


def _is_hidden(given: dict[str, str | None]) -> bool:
    """Whether an element is not shown to a reader, who could then not know what it says."""
    hidden = "hidden" in given or (given.get("aria-hidden") or "").lower() == "true"
    return hidden or bool(_HIDING.search(given.get("style") or ""))
