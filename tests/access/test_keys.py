"""API keys and their file: minted once, matched by hash, changed by one process at a time."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wikimcp.access.key_file import KeyFile
from wikimcp.access.keys import ApiKey, end_of, matching, mint
from wikimcp.errors import BadArgument, NotFound, StateError

ROOT = Path(__file__).parents[2]
NOW = datetime(2031, 5, 1, 12, 0, tzinfo=UTC)


def minted(name: str, **more: str) -> tuple[ApiKey, str]:
    return mint(name, scopes=["mcp_read"], now=NOW, **more)


def test_a_key_is_matched_by_its_text_alone() -> None:
    (first, text), (second, other) = minted("a"), minted("b")
    assert text != other and text.startswith("wikimcp_") and len(text) > 40
    assert matching([first, second], other, now=NOW) == second
    for wrong in ("", "wikimcp_", text[:-1], text + "x", text.upper(), first.sha256, "Đ\udcff"):
        assert matching([first, second], wrong, now=NOW) is None


def test_an_expired_key_is_no_key() -> None:
    key, text = minted("a", expires="2h")
    assert matching([key], text, now=NOW + timedelta(minutes=119)) == key
    assert matching([key], text, now=NOW + timedelta(hours=2)) is None
    broken = ApiKey("a", key.sha256, key.scopes, key.labels, key.created, expires="some day")
    assert matching([broken], text, now=NOW) is None


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", ""),
        ("30d", "2031-05-31T12:00:00+00:00"),
        ("2 W", "2031-05-15T12:00:00+00:00"),
        ("2031-05-01", "2031-05-02T00:00:00+00:00"),
        ("2031-12-31T10:00", "2031-12-31T10:00:00+00:00"),
        ("2031-12-31T10:00+02:00", "2031-12-31T08:00:00+00:00"),
    ],
)
def test_an_end_is_a_span_a_date_or_a_time(text: str, end: str) -> None:
    assert end_of(text, now=NOW) == end


@pytest.mark.parametrize("text", ["soon", "0d", "2031-04-30", "2031-13-01", "9999-12-31", "-3d"])
def test_an_end_that_is_none_or_over_is_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        end_of(text, now=NOW)


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 65, "a\n"])
def test_a_name_is_plain(name: str) -> None:
    with pytest.raises(BadArgument, match="cannot name a key"):
        minted(name)


def test_scopes_are_known_and_labels_are_folded_as_pages_write_them() -> None:
    with pytest.raises(BadArgument, match="Did you mean drafts"):
        mint("a", scopes=["draft"], now=NOW)
    key, _ = mint("a", scopes=["drafts"], labels=[" Board ", '"LEGAL"'], now=NOW)
    assert key.labels == {"board", "legal"}
    for wrong in ("", "  ", "a,b"):
        with pytest.raises(BadArgument, match="is no label"):
            mint("a", scopes=["drafts"], labels=[wrong], now=NOW)


def test_what_is_stored_is_read_back_by_every_reader(tmp_path: Path) -> None:
    file, reader = KeyFile(tmp_path / "new" / "keys.json"), KeyFile(tmp_path / "new" / "keys.json")
    assert reader.read() == ()
    key, text = mint("a", scopes=["drafts", "mcp_read"], labels=["board"], expires="3d", now=NOW)
    file.add(key)
    assert reader.read() == file.read() == (key,)
    assert text not in file.path.read_text(encoding="utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    with pytest.raises(BadArgument, match="already"):
        file.add(key)
    with pytest.raises(NotFound, match="Nearest: a"):
        file.revoke("A")
    file.revoke("a")
    assert reader.read() == ()
    assert sorted(path.name for path in file.path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"version": 2, "keys": []}',
        '{"version": 1}',
        '{"version": 1, "keys": [1]}',
        '{"version": 1, "keys": [{"name": "a"}]}',
        json.dumps(
            {
                "version": 1,
                "keys": [
                    {"name": "a", "sha256": "zz", "scopes": [], "labels": [], "created": "", "expires": ""}
                ],
            }
        ),
    ],
)
def test_a_damaged_file_is_an_error_and_stays_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content, encoding="utf-8")
    file = KeyFile(path)
    for _ in range(2):
        with pytest.raises(StateError, match="damaged: no key is accepted") as caught:
            file.read()
        assert str(tmp_path) not in str(caught.value)
    with pytest.raises(StateError, match="damaged"):
        file.add(minted("a")[0])
    assert path.read_text(encoding="utf-8") == content


def test_keys_made_by_many_processes_at_once_are_all_kept(tmp_path: Path) -> None:
    env = {
        "WIKIMCP_HTTP_KEYS_FILE": str(tmp_path / "keys.json"),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
    }
    names = [f"key{number}" for number in range(6)]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "wikimcp", "keys", "create", name],
            env={**env, "PYTHONPATH": str(ROOT)},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in names
    ]
    texts = [process.communicate(timeout=60)[0].decode().strip() for process in running]
    assert all(process.returncode == 0 for process in running)
    keys = KeyFile(tmp_path / "keys.json").read()
    assert sorted(key.name for key in keys) == names
    now = datetime.now(UTC)
    found = [matching(keys, text, now=now) for text in texts]
    assert [key.name for key in found if key] == names
