"""The connections of a catalog: closed at its end, and never under a thread that reads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wikimcp.index.catalog import Catalog

_READ_WHILE_IT_IS_CLOSED = """
import sys, threading
from pathlib import Path
from wikimcp.index.catalog import Catalog

path = Path(sys.argv[1])
catalog = Catalog.create(path, {})
with catalog.transaction() as writing:
    writing.execute("CREATE TABLE big (a TEXT, b TEXT)")
    writing.executemany("INSERT INTO big VALUES (?, ?)", [(str(n) * 20, "x" * 300) for n in range(20_000)])
found = []

def read(catalog, reading):
    for turn in range(3):
        reading.release()
        found.append(len(catalog._rows("SELECT count(*), group_concat(a), group_concat(b) FROM big")[0]))
        found.append(len(catalog._rows("SELECT a, b FROM big LIMIT 900")))

for turn in range(60):
    catalog, reading = Catalog(path), threading.Semaphore(0)
    threads = [threading.Thread(target=read, args=(catalog, reading)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(turn % 7):  # so many reads have begun
        reading.acquire()
    catalog.close()
    for thread in threads:
        thread.join()
print(found.count(3), found.count(900))
"""


def test_who_reads_while_the_catalog_is_closed_reads_to_the_end(tmp_path: Path) -> None:
    words = [sys.executable, "-X", "faulthandler", "-c", _READ_WHILE_IT_IS_CLOSED, str(tmp_path / "c.sqlite")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, ["540", "540"]), done.stderr[-2_000:]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are told by /proc")
def test_connections_of_threads_that_idle_are_closed_with_the_catalog(tmp_path: Path) -> None:
    catalog = Catalog.create(tmp_path / "c.sqlite", {})
    opened, go_on = threading.Barrier(3), threading.Event()

    def idle() -> None:
        catalog.generation()
        opened.wait()
        go_on.wait()

    threads = [threading.Thread(target=idle, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    opened.wait()
    assert _open_files(tmp_path)
    catalog.close()
    assert not _open_files(tmp_path)
    go_on.set()
    for thread in threads:
        thread.join()


def _open_files(folder: Path) -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # that of the listing itself
            continue
        if target.startswith(str(folder)):
            found.append(target)
    return found
