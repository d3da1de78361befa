"""Text for a page from the command line: given itself, or in a file, or on stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from wikimcp.cli.parsing import UsageError

_MOST_BYTES = 1 << 20


def content_of(text: str | None, file: str | None) -> str:
    """Return the content that is given. Raises UsageError for a file that cannot be read as text."""
    if text is not None:
        return text
    assert file is not None
    try:
        if file == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"'{Path(file).name}' is over 1 MiB", hint="Stage it with `wikimcp ingest`.")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"'{Path(file).name}' is not UTF-8", hint="Save it as UTF-8.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"'{Path(file).name}' cannot be read ({reason})", hint="Check the path.") from error
