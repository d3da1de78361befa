"""Documents for the tests of ingest, made byte by byte: PDFs in all their moods, and DOCX that are bombs."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence


def pdf(pages: Sequence[bytes], *, packed: bool = False, title: str = "") -> bytes:
    """Return a PDF whose pages have these content streams; ``packed`` deflates them."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for content in pages:
        data = zlib.compress(content, 9) if packed else content
        filtered = b" /Filter /FlateDecode" if packed else b""
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(data), filtered, data))
        stream = len(objects)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % stream
        )
        kids.append(len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(kids),
        b" ".join(b"%d 0 R" % kid for kid in kids),
    )
    info = b""
    if title:
        objects.append(b"<< /Title (%s) >>" % title.encode())
        info = b" /Info %d 0 R" % len(objects)
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.5\n")
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    for place in places:
        out.write(b"%010d 00000 n \n" % place)
    out.write(
        b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, info, start)
    )
    return out.getvalue()


def shown(text: str) -> bytes:
    """Return the content stream that shows a line of text."""
    return b"BT /F1 12 Tf 20 250 Td (%s) Tj ET" % text.encode("latin-1")


def zipped(parts: dict[str, bytes]) -> bytes:
    """Return a zip archive of parts, packed as tightly as it goes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def claiming(data: bytes, name: bytes, size: int) -> bytes:
    """Return an archive in which the entry of a part says that it unpacks into ``size`` bytes."""
    changed = bytearray(data)
    local, central = changed.find(b"PK\x03\x04"), changed.find(b"PK\x01\x02")
    while local >= 0 and changed[local + 30 : local + 30 + len(name)] != name:
        local = changed.find(b"PK\x03\x04", local + 4)
    while central >= 0 and changed[central + 46 : central + 46 + len(name)] != name:
        central = changed.find(b"PK\x01\x02", central + 4)
    changed[local + 22 : local + 26] = size.to_bytes(4, "little")
    changed[central + 24 : central + 28] = size.to_bytes(4, "little")
    return bytes(changed)
