"""Vectors follow the pages: never an old one for a new text, and no text embedded twice."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.index.index_facts import index_of
from tests.index.live_wiki import until
from wikimcp.dense.exact import ExactIndex
from wikimcp.errors import Unavailable
from wikimcp.index.embedding import EmbedderVectors
from wikimcp.index.keeper import IndexKeeper
from wikimcp.index.state import StateDir
from wikimcp.models import Audience
from wikimcp.ports import Vectors

SUBJECTS = ("cat", "database", "lamp", "mill")


class SubjectEmbedder:
    """An embedder that knows four subjects, counts what it is given, and can be down."""

    name = "subjects"
    dimension = len(SUBJECTS)
    thresholds = (0.5, 0.3)

    def __init__(self) -> None:
        self.down = False
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text; raises Unavailable while it is down."""
        if self.down:
            raise Unavailable("the embedder is down")
        self.embedded += texts
        rows = np.array([[text.lower().count(subject) for subject in SUBJECTS] for text in texts], np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vectors = rows / np.maximum(lengths, 1)
        return unit

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        row: Vectors = np.array([text.count(subject) for subject in SUBJECTS], np.float32)
        return row


@pytest.fixture
def embedder() -> SubjectEmbedder:
    return SubjectEmbedder()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "pet.md").write_text("# Pet\n\nThe cat sleeps.\n")
    (root / "light.md").write_text("# Light\n\nThe lamp burns.\n")
    return root


@pytest.fixture
def keeper(tmp_path: Path, vault: Path, embedder: SubjectEmbedder) -> Iterator[IndexKeeper]:
    made = keeper_of(tmp_path, vault, embedder)
    made.start()
    made.wait(vectors="floor")
    until(lambda: missing(made) == 0, "all is embedded")
    yield made
    made.close()


def keeper_of(tmp_path: Path, vault: Path, embedder: SubjectEmbedder) -> IndexKeeper:
    state = StateDir.open(tmp_path / "state")
    return IndexKeeper(
        index_of(vault, tmp_path / "state"), floor=EmbedderVectors(embedder, state, ExactIndex)
    )


def missing(keeper: IndexKeeper) -> int:
    keeper.freshen()
    return keeper.stamp(keeper.reading()).pending


def cosine(keeper: IndexKeeper, slug: str, subject: str) -> float:
    keeper.freshen()
    reading = keeper.reading()
    page = reading.page(slug)
    assert page is not None
    vector = reading.embed_query(subject)
    assert vector is not None
    return float(reading.cosines(vector, np.array([page.rev << 16], np.uint64))[0])


def test_an_old_vector_is_never_used_for_a_new_text(
    keeper: IndexKeeper, vault: Path, embedder: SubjectEmbedder
) -> None:
    assert cosine(keeper, "pet", "cat") == pytest.approx(1)
    embedder.down = True
    (vault / "pet.md").write_text("# Pet\n\nThe database sleeps.\n")
    assert cosine(keeper, "pet", "cat") == -1
    stamp = keeper.stamp(keeper.reading())
    assert (stamp.pending, stamp.dense) == (1, "warming")
    hits = keeper.reading().lexical("database", limit=3)
    assert len(hits.page_revs) == 1 and not len(keeper.reading().lexical("cat", limit=3).page_revs)
    embedder.down = False
    (vault / "light.md").write_text("# Light\n\nThe lamp burns low.\n")
    until(lambda: missing(keeper) == 0, "it is made up for")
    assert cosine(keeper, "pet", "database") == pytest.approx(1)
    assert cosine(keeper, "pet", "cat") == 0


def test_nothing_is_embedded_twice(keeper: IndexKeeper, vault: Path, embedder: SubjectEmbedder) -> None:
    before = sorted(embedder.embedded)
    assert len(before) == len(set(before)) == 2
    os.utime(vault / "pet.md")
    (vault / "light.md").rename(vault / "lantern.md")
    (vault / "copy.md").write_text((vault / "pet.md").read_text())
    assert missing(keeper) == 0
    text = (vault / "lantern.md").read_text()
    (vault / "lantern.md").write_text("# Light\n\nThe mill burns.\n")
    until(lambda: missing(keeper) == 0, "the new text is embedded")
    assert len(embedder.embedded) == 3
    (vault / "lantern.md").write_text(text)
    assert missing(keeper) == 0
    assert len(embedder.embedded) == 3


def test_a_new_title_or_summary_embeds_a_page_anew(
    keeper: IndexKeeper, vault: Path, embedder: SubjectEmbedder
) -> None:
    (vault / "pet.md").write_text("---\ntitle: Mill\n---\n# Pet\n\nThe cat sleeps.\n")
    until(lambda: missing(keeper) == 0, "it is embedded")
    assert len(embedder.embedded) == 3 and embedder.embedded[-1].startswith("Mill")


def test_a_restart_embeds_nothing_again(
    keeper: IndexKeeper, tmp_path: Path, vault: Path, embedder: SubjectEmbedder
) -> None:
    keeper.close()
    other = SubjectEmbedder()
    again = keeper_of(tmp_path, vault, other)
    again.wait(vectors="floor")
    assert missing(again) == 0 and other.embedded == []
    again.close()


def test_a_withheld_page_gets_no_vector(keeper: IndexKeeper, vault: Path, embedder: SubjectEmbedder) -> None:
    (vault / "secret.md").write_text("---\ndraft: true\n---\n# Secret\n\nThe mill is sold.\n")
    (vault / "pet.md").write_text("# Pet\n\nThe cat and the lamp.\n")
    until(lambda: missing(keeper) == 0, "what is public is embedded")
    assert not any("mill" in text for text in embedder.embedded)
    assert keeper.reading(Audience(drafts=True)).page("secret") is not None


def test_waiting_for_vectors_does_not_wait_for_a_process_that_makes_none(
    tmp_path: Path, vault: Path, embedder: SubjectEmbedder
) -> None:
    without = IndexKeeper(index_of(vault, tmp_path / "state"), floor=None)
    without.start()
    without.wait()
    until(lambda: without._leader.held, "it leads")
    keeper = keeper_of(tmp_path, vault, embedder)
    keeper.wait(vectors="floor")
    assert missing(keeper) == 0
    keeper.close()
    without.close()
