"""What a staged source is, by its name and its first bytes, and how its text is had.

Text-like sources are strict UTF-8. What is read by a library or a parser of somebody else's format is
read in a process of its own (`extraction`); the rest here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from wikimcp.errors import BadArgument, Unreadable

MOST_EXTRACT = 2 * 2**20
"""Bytes of UTF-8 that an extract may have; what is over is cut and marked."""

_MARKDOWN = frozenset(("md", "markdown", "txt", "text", "org", "rst", "adoc", ""))
_IMAGES: Mapping[str, str] = {
    "png": "PNG",
    **dict.fromkeys(("jpg", "jpeg"), "JPEG"),
    "gif": "GIF",
    "webp": "WebP",
    "svg": "SVG",
    "bmp": "BMP",
    "avif": "AVIF",
    **dict.fromkeys(("tif", "tiff"), "TIFF"),
}
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = b"PK\x03\x04"
_MEDIA_TYPES: Mapping[str, str] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
    "image/avif": "avif",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source: ``name`` as metadata says it, ``suffix`` of its file, and who reads it.

    ``apart`` sources are read in a process of their own.
    """

    name: str
    suffix: str
    apart: bool = False


def kind_of(data: bytes, *, name: str = "", media_type: str = "") -> Kind:
    """Return what a source is. Raises Unreadable for what is known to hold no text that can be had here."""
    suffix = _MEDIA_TYPES.get(media_type.partition(";")[0].strip().lower(), "")
    suffix = suffix or PurePosixPath(name).suffix.lower().removeprefix(".")
    seen = next((kind for magic, kind in _MAGIC if data.startswith(magic)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        seen = "webp"
    if seen == "bmp" and suffix != "bmp":
        seen = ""  # two letters are no proof
    if data.startswith(_OLE):
        raise Unreadable(
            "this is an encrypted or an old Office document",
            hint="Take the password off, or save it as .docx, PDF or text.",
        )
    if seen == "pdf" or suffix == "pdf":
        return Kind("pdf", "pdf", apart=True)
    if suffix == "docx":
        return Kind("docx", "docx", apart=True)
    if data.startswith(_ZIP):
        raise Unreadable("this is an archive", hint="Unpack it and ingest the files one by one.")
    if seen or suffix in _IMAGES:
        return Kind("image", seen or suffix)
    if suffix in ("html", "htm", "xhtml"):
        return Kind("html", "html", apart=True)
    if suffix in ("csv", "tsv"):
        return Kind("csv", suffix, apart=True)
    if suffix == "json":
        return Kind("json", "json", apart=True)
    if suffix in _MARKDOWN:
        return Kind("text", suffix if suffix not in ("", "text") else "txt")
    return Kind("text-like", suffix if suffix.isalnum() and len(suffix) <= 12 else "txt")


def strict_text(data: bytes) -> str:
    """Return text-like bytes as text, a byte order mark left out and line ends made one.

    Raises BadArgument with the place of the first byte that is no UTF-8, or of a NUL.
    """
    body = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise BadArgument(
            f"the source is not UTF-8 (byte {error.start} on line {line})",
            hint="Save it as UTF-8. Of formats that are no text PDF, DOCX and images are taken.",
        ) from error
    if "\0" in text:
        raise BadArgument("the source holds NUL bytes, so it is no text", hint="Save it as UTF-8 text.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def plain_extract(kind: Kind, data: bytes) -> str:
    """Return the extract of a source that needs no parser: text as it is, code fenced, images as a stub."""
    if kind.name == "image":
        form = _IMAGES.get(kind.suffix, kind.suffix.upper())
        return (
            f"(A picture: {form}, {len(data):,} bytes. Nothing was read out of it. Look at the source and "
            "write down what it shows.)\n"
        )
    text = strict_text(data)
    return text if kind.name == "text" else fenced(text, kind.suffix)


def fenced(text: str, language: str) -> str:
    """Return a text in a fence that is longer than any in it."""
    longest, run = 2, 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


def cut(text: str, *, most: int = MOST_EXTRACT) -> tuple[str, bool]:
    """Return a text within ``most`` bytes of UTF-8, cut at a line if it can be, and whether it was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode("utf-8"), False
    kept = data[:most].decode("utf-8", "ignore")
    line = kept.rfind("\n")
    return (kept[: line + 1] if line > len(kept) // 2 else kept), True
