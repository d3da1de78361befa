"""Text out of formats: HTML, CSV, JSON, PDF and DOCX. Runs in the process that `extraction` starts.

The owner of pypdf and python-docx, both of the extra ``documents``. Every reader gives up with a named
error on what is encrypted, scanned, broken, or would unpack into more than it is worth.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from wikimcp.authoring.html_text import declared_charset, html_to_text
from wikimcp.authoring.source_kinds import MOST_EXTRACT, fenced, strict_text
from wikimcp.errors import BadArgument, TooLarge, Unavailable, Unreadable, WikimcpError

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table

_MOST_UNPACKED = 128 * 2**20
_MOST_PART = 48 * 2**20
_MOST_PARTS = 4_000
_MOST_RATIO = 200
_SMALL = 4 * 2**20  # a part below it may be packed as tightly as it likes
_MOST_PAGES = 10_000
_SNIFFED = 16_384
_EXTRA = "Install the extra: pip install 'wikimcp-server[documents]'."


def extract(kind: str, data: bytes, *, charset: str = "", base: str = "") -> tuple[str, str]:
    """Return (markdown, title) of a source of one of the kinds in ``READERS``.

    The text may be longer than an extract may be, by one page or row at most. Raises Unreadable,
    TooLarge, BadArgument or Unavailable.
    """
    if kind == "html":
        return _html(data, charset, base)
    return READERS[kind](data)


def _html(data: bytes, charset: str, base: str) -> tuple[str, str]:
    name = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else charset or declared_charset(data) or "utf-8"
    try:
        text = data.decode(name)
    except LookupError as error:
        raise BadArgument(f"the page names a charset nobody knows: '{name[:40]}'") from error
    except ValueError as error:
        raise BadArgument(f"the page is not in the charset it names, {name[:40]}") from error
    return html_to_text(text.replace("\0", ""), base=base)


def _csv(data: bytes) -> tuple[str, str]:
    text = strict_text(data)
    csv.field_size_limit(MOST_EXTRACT)
    try:
        dialect: type[csv.Dialect] | str = csv.Sniffer().sniff(text[:_SNIFFED], delimiters=",;\t|")
    except csv.Error:
        dialect = "excel-tab" if "\t" in text[:_SNIFFED] and "," not in text[:_SNIFFED] else "excel"
    lines, size, width = [], 0, 0
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), dialect)):
            width = width or len(row)
            lines.append(_table_row(row))
            if not number:
                lines.append(f"|{' --- |' * max(len(row), 1)}")
            size += len(lines[-1])
            if size > MOST_EXTRACT:
                break
    except csv.Error as error:
        raise Unreadable(f"the table cannot be read ({error})", hint="Check its quotes.") from error
    return "\n".join(lines) + "\n", ""


def _json(data: bytes) -> tuple[str, str]:
    text = strict_text(data)
    try:
        json.loads(text)
    except RecursionError as error:
        raise TooLarge("the JSON is nested too deeply") from error
    except ValueError as error:
        raise BadArgument(f"this is no JSON ({error})", hint="Ingest it as text with --text.") from error
    return fenced(text, "json"), ""


def _pdf(data: bytes) -> tuple[str, str]:
    try:
        import pypdf
        from pypdf.errors import DependencyError, LimitReachedError
    except ImportError as error:
        raise Unavailable("PDF is read by pypdf, which is not installed", hint=_EXTRA) from error
    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not _opens(reader):
            raise Unreadable("the PDF is encrypted", hint="Save it without a password and ingest that.")
        pages = len(reader.pages)
        if pages > _MOST_PAGES:
            raise TooLarge(f"the PDF has {pages:,} pages; {_MOST_PAGES:,} are the most", hint="Split it.")
        parts = list(_until_full(_pdf_pages(reader)))
        title = str((reader.metadata.title if reader.metadata else "") or "")
    except LimitReachedError as error:
        raise TooLarge(
            "a stream of the PDF unpacks into more than is read", hint="Print it into a new PDF."
        ) from error
    except DependencyError as error:
        raise Unreadable(
            "the PDF is encrypted in a way that is not read here", hint="Save it without encryption."
        ) from error
    except RecursionError as error:
        raise TooLarge("the PDF is nested too deeply", hint="Print it into a new PDF.") from error
    except (WikimcpError, MemoryError):
        raise
    except Exception as error:  # a broken file may raise anything in its reader
        raise Unreadable(
            f"the PDF is broken ({type(error).__name__})", hint="Print it into a new PDF."
        ) from error
    if not any(part.strip() for part in parts):
        raise Unreadable(
            f"the PDF holds no text on its {pages} pages, as of a scan",
            hint="Run text recognition on it first.",
        )
    return "\n\n".join(part for part in parts if part) + "\n", title


def _opens(reader: object) -> bool:
    """Whether an encrypted PDF opens without a password, as one does that only restricts printing."""
    decrypt: Callable[[str], int] = reader.decrypt  # type: ignore[attr-defined]
    return bool(decrypt(""))


def _pdf_pages(reader: object) -> Iterator[str]:
    for number, page in enumerate(reader.pages, start=1):  # type: ignore[attr-defined]
        text = page.extract_text().encode("utf-8", "replace").decode("utf-8").replace("\0", "")
        yield f"<!-- page {number} -->\n\n{text.strip()}" if text.strip() else ""


def _docx(data: bytes) -> tuple[str, str]:
    _refuse_zip_bombs(data)
    try:
        import docx
    except ImportError as error:
        raise Unavailable("DOCX is read by python-docx, which is not installed", hint=_EXTRA) from error
    try:
        document = docx.Document(io.BytesIO(data))
        parts = list(_until_full(_docx_blocks(document)))
        title = str(document.core_properties.title or "")
    except RecursionError as error:
        raise TooLarge("the document is nested too deeply", hint="Save it anew.") from error
    except MemoryError:
        raise
    except Exception as error:  # of three libraries: zipfile, lxml and python-docx
        raise Unreadable(
            f"the document is broken ({type(error).__name__})", hint="Save it anew as .docx."
        ) from error
    if not any(parts):
        raise Unreadable("the document holds no text", hint="Ingest its pictures one by one.")
    return "\n\n".join(part for part in parts if part) + "\n", title


def _refuse_zip_bombs(data: bytes) -> None:
    """Raise before anything is unpacked; a part never unpacks into more than its entry says."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable("this is no DOCX document", hint="Save it anew as .docx.") from error
    if any(part.flag_bits & 1 for part in parts):
        raise Unreadable("the document is encrypted", hint="Take the password off.")
    unpacked = sum(part.file_size for part in parts)
    if len(parts) > _MOST_PARTS or unpacked > _MOST_UNPACKED or any(map(_is_bomb, parts)):
        raise TooLarge(
            f"the document unpacks into {unpacked >> 20:,} MiB in {len(parts):,} parts, as a zip bomb does",
            hint="Save it anew, without its pictures.",
        )


def _is_bomb(part: zipfile.ZipInfo) -> bool:
    if part.file_size <= _SMALL:
        return False
    return part.file_size > _MOST_PART or part.file_size > _MOST_RATIO * max(part.compress_size, 1)


def _docx_blocks(document: Document) -> Iterator[str]:
    from docx.table import Table

    for block in document.iter_inner_content():
        if isinstance(block, Table):
            yield _docx_table(block)
            continue
        text = " ".join(block.text.split())
        style = (block.style.name or "") if text and block.style is not None else ""
        level = style.removeprefix("Heading ").strip() if style.startswith("Heading ") else ""
        if style == "Title":
            yield f"# {text}"
        elif level.isdecimal():
            yield f"{'#' * min(int(level), 6)} {text}"
        else:
            yield f"- {text}" if text and style.startswith("List") else text


def _docx_table(table: Table) -> str:
    lines = []
    for number, row in enumerate(table.rows):
        lines.append(_table_row([cell.text for cell in row.cells]))
        if not number:
            lines.append(f"|{' --- |' * max(len(row.cells), 1)}")
    return "\n".join(lines)


def _table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"


def _until_full(parts: Iterable[str]) -> Iterator[str]:
    """Yield parts until together they are longer than an extract may be."""
    size = 0
    for part in parts:
        yield part
        size += len(part)
        if size > MOST_EXTRACT:
            return


READERS: Mapping[str, Callable[[bytes], tuple[str, str]]] = {
    "csv": _csv,
    "json": _json,
    "pdf": _pdf,
    "docx": _docx,
    "html": lambda data: _html(data, "", ""),
}
"""Who reads which kind."""
