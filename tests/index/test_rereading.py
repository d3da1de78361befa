"""Answers while the pages behind them change faster than an answer is made."""

from __future__ import annotations

import pytest

from tests.index.live_wiki import LiveWiki
from wikimcp.errors import Unavailable
from wikimcp.index.rereading import read_as_it_is
from wikimcp.index.view import Reading
from wikimcp.models import ANONYMOUS

PAGES = 30


def test_a_list_of_pages_of_which_one_changes_during_each_try_is_answered(wiki: LiveWiki) -> None:
    for number in range(PAGES):
        wiki.write(f"page-{number:02}.md", f"# Page {number}\n\nFirst text.\n")
    assert len(wiki.slugs()) == PAGES
    tries: list[dict[str, str]] = []

    def run(reading: Reading) -> dict[str, str]:
        reading.touch(reading.pages)
        answer = {page.slug: page.title for page in reading.pages}
        tries.append(answer)
        number = len(tries)
        wiki.write(f"page-{number:02}.md", f"# Changed {number}\n\nOther text, and more of it.\n")
        return answer

    answer = read_as_it_is(wiki.service.keeper, ANONYMOUS, run)
    assert answer is tries[-1] and 1 < len(tries) <= 4
    # As it was when the last try began: all changes before are in it, and no page is left out.
    changed = {f"page-{number:02}": f"Changed {number}" for number in range(1, len(tries))}
    assert answer == {f"page-{number:02}": f"Page {number}" for number in range(PAGES)} | changed


def test_a_page_that_changes_before_each_look_is_never_answered_for_as_it_was(wiki: LiveWiki) -> None:
    wiki.write("a.md", "# Was\n\nText.\n")
    wiki.write("b.md", "# Stays\n\nText.\n")
    assert wiki.slugs() == ["a", "b"]
    keeper, count = wiki.service.keeper, 0

    def run(reading: Reading) -> list[str]:
        nonlocal count
        count += 1
        wiki.write("a.md", f"# Is {'x' * count}\n\nText.\n")
        found = [page for page in reading.pages if page.path == "a.md"]
        reading.touch(found)
        return [page.title for page in found]

    try:
        answer = read_as_it_is(keeper, ANONYMOUS, run)
    except Unavailable as error:
        assert "keep changing" in error.message
    else:
        assert answer in ([], [f"Is {'x' * (count - 1)}"])


@pytest.mark.parametrize("tries", [1, 3])
def test_an_answer_is_made_again_until_its_pages_rest(wiki: LiveWiki, tries: int) -> None:
    wiki.write("a.md", "# Was\n\nText.\n")
    assert wiki.slugs() == ["a"]
    left = tries

    def run(reading: Reading) -> list[str]:
        nonlocal left
        reading.touch(reading.pages)
        titles = [page.title for page in reading.pages]
        if left:
            wiki.write("a.md", f"# Is {'x' * left}\n\nText.\n")
            left -= 1
        return titles

    assert read_as_it_is(wiki.service.keeper, ANONYMOUS, run) in (["Is x"], [])
    assert left == 0
