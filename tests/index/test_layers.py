"""Large tables made one from the other: equal to plain ones, and what was made before stays as it was."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from wikimcp.layers import Layered, PathOrder


@dataclass(frozen=True, eq=False)
class Page:
    path: str
    rev: int


spans = st.tuples(st.integers(0, 1500), st.integers(0, 700)).map(lambda span: range(span[0], sum(span)))
rounds = st.lists(st.tuples(spans, spans), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(rounds=rounds)
def test_a_layered_table_holds_what_a_plain_one_does_and_never_changes(
    rounds: list[tuple[range, range]],
) -> None:
    plain = {key: 0 for key in range(1000)}
    table = Layered(dict(plain))
    kept = [(table, dict(plain))]
    for number, (gone, come) in enumerate(rounds, start=1):
        for key in gone:
            plain.pop(key, None)
        plain.update((key, number) for key in come)
        table = table.changed(gone=gone, come=((key, number) for key in come))
        kept.append((table, dict(plain)))
    for made, wanted in kept:
        assert dict(made.items()) == wanted and len(made) == len(wanted)
        assert set(made) == wanted.keys() and sorted(made.values()) == sorted(wanted.values())
        for key in range(0, 2300, 7):
            assert made.get(key, -1) == wanted.get(key, -1)
            assert (key in made) is (key in wanted)


@settings(max_examples=60, deadline=None)
@given(rounds=rounds)
def test_an_order_of_pages_is_that_of_their_paths_and_never_changes(
    rounds: list[tuple[range, range]],
) -> None:
    plain = {f"p{key:04}": Page(f"p{key:04}", 0) for key in range(1200)}
    order = PathOrder.of(reversed(plain.values()))
    kept = [(order, [plain[path] for path in sorted(plain)])]
    for number, (gone, come) in enumerate(rounds, start=1):
        fresh = [Page(f"p{key:04}", number) for key in come]
        for key in gone:
            plain.pop(f"p{key:04}", None)
        plain.update((page.path, page) for page in fresh)
        order = order.changed(gone={f"p{key:04}" for key in gone}, come=fresh)
        kept.append((order, [plain[path] for path in sorted(plain)]))
    for made, wanted in kept:
        assert list(made) == wanted and len(made) == len(wanted)
        assert made[3:700:3] == wanted[3:700:3] and made[-2:] == wanted[-2:]
        assert all(made[at] is wanted[at] for at in range(-len(wanted), len(wanted), 11))
        for prefix in ("p0", "p123", "p9999", ""):
            assert made.starting(prefix) == [page for page in wanted if page.path.startswith(prefix)]
        went, came = made.differences(order)
        assert set(went) == set(wanted) - set(order) and set(came) == set(order) - set(wanted)


def test_a_page_more_leaves_all_blocks_but_one_as_they_are() -> None:
    before = PathOrder.of(Page(f"p{key:04}", 0) for key in range(3000))
    after = before.changed(gone=(), come=[Page("p1500x", 1)])
    shared = {id(block) for block in before._blocks} & {id(block) for block in after._blocks}
    assert len(shared) == len(before._blocks) - 1
