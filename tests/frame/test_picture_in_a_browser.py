"""The picture of a graph as a person meets it, in a real headless browser; skipped where there is none."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.frame.browser import Page, found_browser, opened_page
from tests.frame.picture_wiki import HILLS, HOSTILE, NAMES, flat, write_vault
from wikimcp.cli import main

pytestmark = pytest.mark.skipif(
    found_browser() is None, reason="there is no Chromium on the path (Debian: apt-get install chromium)"
)
SHOTS = os.environ.get("PICTURE_SHOTS", "")
Draw = Callable[..., Path]

TITLE = "document.querySelector('#detail h2').textContent"
COUNTS = "document.querySelector('#counts').textContent"
JUMPS = "[...document.querySelectorAll('#detail .jump .name')].map((one) => one.textContent)"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Start one browser for all tests of the module."""
    with opened_page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Draw:
    """Write the picture of a vault; gives the file."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "WIKIMCP_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("WIKIMCP_EMBEDDER", "none")

    def drawn(pages: dict[str, str]) -> Path:
        vault, file = tmp_path / "vault", tmp_path / "graph.html"
        write_vault(vault, pages)
        assert main(["graph", "--html", str(file), "--vault", str(vault), "--json"]) == 0
        return file

    return drawn


def opened(page: Page, file: Path) -> None:
    """Load a picture afresh, with nothing noted yet."""
    page.ask("Page.navigate", url="about:blank")
    page.troubles.clear()
    page.requests.clear()
    page.open(file)


def where(page: Page, selector: str) -> tuple[float, float]:
    """Return the middle of an element."""
    x, y = page.run(
        f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}});"
        " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    return x, y


def box_of(name: str, within: str) -> str:
    """Return the expression for the check box of a name in a filter."""
    return (
        f"[...document.querySelectorAll('#{within} li')].find((one) => "
        f"one.querySelector('.name').textContent === {json.dumps(name)}).querySelector('input')"
    )


def drawn_pixels(page: Page) -> int:
    """Return how many points of the canvas are not bare."""
    count = page.run(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {"
        " const c = document.getElementById('graph'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i]) n++; done(n); })))"
    )
    return int(count)


def shot(page: Page, name: str) -> None:
    """Keep a picture of the page where PICTURE_SHOTS names a folder."""
    if SHOTS:
        data = page.ask("Page.captureScreenshot")["data"]
        (Path(SHOTS) / f"{name}.png").write_bytes(base64.b64decode(data))


def test_a_page_is_found_selected_and_clicked_through_by_keys_alone(page: Page, draw: Draw) -> None:
    opened(page, draw(HILLS))
    assert page.run(COUNTS) == "5 pages, 1 other node, 7 of 9 links"
    assert page.run(TITLE) == "Overview"
    assert drawn_pixels(page) > 500
    page.press("/")
    page.type("corn")
    page.press("ArrowDown", code=40)
    page.press("Enter", code=13)
    assert page.run(TITLE) == "Mill"
    details = page.run("document.getElementById('detail').innerText")
    assert "Where corn is ground." in details and "mill.md" in details and "place" in details
    assert set(page.run(JUMPS)) == {"River", "Nowhere", "The hills", "old"}
    page.run("[...document.querySelectorAll('#detail .jump')].find((b) => b.textContent === 'River').focus()")
    page.press("Enter", code=13)
    assert page.run(TITLE) == "River"
    assert page.run("decodeURIComponent(location.hash)") == "#page:river"
    page.run("history.back()")
    page.until(f"{TITLE} === 'Mill'")
    page.press("n")
    assert page.run(TITLE) in {"River", "Nowhere", "The hills"}
    page.press("Escape", code=27)
    assert page.run(TITLE) == "Overview"
    page.press("?")
    assert page.run("document.getElementById('help').open") is True
    page.run("document.getElementById('help').close()")
    assert page.troubles == []


def test_filters_leave_what_they_say(page: Page, draw: Draw) -> None:
    opened(page, draw(HILLS))
    page.run(f"{box_of('water', 'clusters')}.click()")
    assert page.run(COUNTS) == "2 of 5 pages, 0 of 9 links"
    page.run("document.getElementById('reset').click()")
    page.run(f"{box_of('links to', 'relations')}.click()")
    assert page.run(COUNTS) == "5 pages, 1 other node, 1 of 9 links"
    page.run("document.getElementById('linked').click()")
    assert page.run(COUNTS) == "2 of 5 pages, 1 of 9 links"
    page.run("document.getElementById('reset').click()")
    page.run(f"{box_of('tag', 'types')}.click()")
    assert page.run(COUNTS) == "5 pages, 2 other nodes, 8 of 9 links"
    page.run("document.querySelector('#types .all button:last-child').click()")
    assert page.run(COUNTS) == "0 of 5 pages, 0 of 9 links"
    assert page.run("document.getElementById('empty').textContent") == "The filters leave nothing to show."
    page.run("document.getElementById('reset').click()")
    assert page.run(COUNTS) == "5 pages, 1 other node, 7 of 9 links"
    page.run("location.hash = '#page:river'")
    page.until(f"{TITLE} === 'River'")
    page.press("f")
    assert page.run(COUNTS) == "4 of 5 pages, 6 of 9 links"
    page.press("Escape", code=27)
    assert page.run(COUNTS) == "5 pages, 1 other node, 7 of 9 links"
    assert page.troubles == []


def test_a_node_is_clicked_dragged_and_the_view_zoomed(page: Page, draw: Draw) -> None:
    opened(page, draw(HILLS))
    page.run("location.hash = '#page:hermit'")
    page.until(f"{TITLE} === 'Hermit'")
    x, y = where(page, "#graph")  # what is selected stands in the middle
    page.press("Escape", code=27)
    page.click(x, y)
    assert page.run(TITLE) == "Hermit"
    page.ask("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    for step in (20, 60, 90):
        page.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y, button="left", buttons=1)
    page.ask("Input.dispatchMouseEvent", type="mouseReleased", x=x + 90, y=y, button="left", clickCount=1)
    page.click(x + 240, y + 240)
    assert page.run(TITLE) == "Overview", "a click on the ground leaves the selection"
    page.click(x + 90, y)
    assert page.run(TITLE) == "Hermit"
    few = drawn_pixels(page)
    page.ask("Input.dispatchMouseEvent", type="mouseWheel", x=x + 90, y=y, deltaX=0, deltaY=-400)
    assert drawn_pixels(page) > few, "nearer is larger"
    assert page.troubles == []


def test_hostile_names_are_shown_as_they_are(page: Page, draw: Draw) -> None:
    opened(page, draw(HOSTILE))
    assert page.run("document.title") == "</title><script>document.title=1</script> & more"
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelectorAll('img, i, b:not(#tip b)').length") == 0
    for slug, title in NAMES.items():
        page.run(f"location.hash = '#page:{slug}'")
        page.until(f"{TITLE} === {json.dumps(flat(title))}")
    page.run(
        "document.querySelectorAll('#types input, #relations input').forEach((b) => b.checked || b.click())"
    )
    page.run("document.getElementById('colours').value = 'type'")
    page.run("document.getElementById('colours').dispatchEvent(new Event('change'))")
    shot(page, "hostile")
    assert drawn_pixels(page) > 500
    assert page.requests == [request for request in page.requests if request.startswith(("file:", "about:"))]
    assert len(page.requests) <= 2 and page.troubles == []


def test_an_empty_graph_says_so(page: Page, draw: Draw) -> None:
    opened(page, draw({"note.txt": "no page"}))
    assert page.run("document.getElementById('empty').textContent") == "There is nothing in this graph yet."
    for key in ("+", "0", "r", "n", "f", "t", "t"):
        page.press(key)
    assert page.troubles == []


def test_the_large_corpus_is_drawn_in_light_and_dark_and_narrow(page: Page, corpus_picture: Path) -> None:
    opened(page, corpus_picture)
    grounds = []
    for scheme in ("light", "dark"):
        page.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert drawn_pixels(page) > 20_000
        grounds.append(page.run("getComputedStyle(document.body).backgroundColor"))
        shot(page, f"corpus-{scheme}")
    assert len(set(grounds)) == 2
    page.press("t")
    assert page.run("getComputedStyle(document.body).backgroundColor") == grounds[0]
    page.run(f"{box_of('tag', 'types')}.click()")
    page.until("document.body.dataset.layout === 'settled'")
    assert " 2,8" in page.run(COUNTS), "the tags came on"
    page.press("/")
    page.type("hybrid retrieval")
    page.press("Enter", code=13)
    assert page.run(TITLE) == "Hybrid Retrieval"
    assert len(page.run(JUMPS)) > 10
    shot(page, "corpus-selected")
    page.ask("Emulation.setDeviceMetricsOverride", width=400, height=760, deviceScaleFactor=2, mobile=True)
    page.until("document.getElementById('menu').offsetWidth > 0")
    assert page.run("document.documentElement.scrollWidth") <= 400
    shot(page, "corpus-narrow")
    page.ask("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    page.ask("Emulation.setEmulatedMedia", features=[])
    assert page.troubles == []
