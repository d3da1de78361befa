"""Any order of edits and calls against a model of the vault: lists, parts, searches, budgets, JSON."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.index.live_wiki import LiveWiki
from wikimcp.errors import BadArgument, WikimcpError
from wikimcp.models import Caller
from wikimcp.tools.answers import answer_tokens
from wikimcp.tools.contract import Answer
from wikimcp.tools.registry import load

PATHS = ("a.md", "b.md", "in/a.md", "in/c.md", "in/deep/d.md", "\u00fcber uns.md", "z z.md")
WORDS = ("barley", "kestrel", "valve", "quay")
CAP = 500
LISTS: dict[str, tuple[str, str]] = {
    "list_pages": ("pages", "slug"),
    "query_nodes": ("nodes", "id"),
    "list_metadata_values": ("values", "value"),
}


def page(word: str, public: bool, lines: int) -> str:
    head = "" if public else "draft: true\n"
    body = "".join(f"Line {number} of {word} [[{word} {number}]].\n\n" for number in range(lines))
    return f"---\nword: {word}\n{head}---\n# {word.title()}\n\n{body}"


class WikiAgainstModel(RuleBasedStateMachine):
    """A vault that is edited while lists are walked part by part; the model is what the files say."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wikimcp-model-"))
        self.wiki = LiveWiki(self.folder, answer_tokens=CAP)
        self.model: dict[str, tuple[str, str, bool]] = {}
        self.walks: dict[str, Any] = {}
        for number, path in enumerate(PATHS[:5]):
            self.write(path, WORDS[number % len(WORDS)], True, 3)

    def teardown(self) -> None:
        if hasattr(self, "wiki"):
            self.wiki.stop()
            shutil.rmtree(self.folder)

    def public(self) -> dict[str, str]:
        return {path.removesuffix(".md"): text for path, (text, _, public) in self.model.items() if public}

    # Edits

    @rule(
        path=st.sampled_from(PATHS),
        word=st.sampled_from(WORDS),
        public=st.booleans(),
        lines=st.integers(0, 60),
    )
    def write(self, path: str, word: str, public: bool, lines: int) -> None:
        text = page(word, public, lines)
        self.wiki.write(path, text)
        self.model[path] = (text, word, public)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.model)))
        (self.wiki.vault / path).unlink()
        del self.model[path]

    @precondition(lambda self: self.model)
    @rule(data=st.data(), to=st.sampled_from(PATHS))
    def rename(self, data: st.DataObject, to: str) -> None:
        path = data.draw(st.sampled_from(sorted(self.model)))
        target = self.wiki.vault / to
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.wiki.vault / path).replace(target)
        self.model[to] = self.model.pop(path)

    # Lists, part by part

    @precondition(lambda self: self.public())
    @rule(data=st.data(), tool=st.sampled_from(sorted(LISTS)), limit=st.integers(1, 2), still=st.booleans())
    def walk_a_list(self, data: st.DataObject, tool: str, limit: int, still: bool) -> None:
        """Go from part to part, with edits in between unless all is to stay ``still``."""
        self.walks[tool] = {"limit": limit, "found": [], "cursor": "", "model": dict(self.model)}
        self._step(tool)
        while tool in self.walks:
            if not still and data.draw(st.booleans()):
                word, public = data.draw(st.sampled_from(WORDS)), data.draw(st.booleans())
                self.write(data.draw(st.sampled_from(PATHS)), word, public, 1)
            if not self.public():
                self.walks.clear()  # a vault without pages has no tools
                return
            self._step(tool)

    def _step(self, tool: str) -> None:
        walk, (items, name) = self.walks[tool], LISTS[tool]
        more = {"field": "word"} if tool == "list_metadata_values" else {}
        asked = {**more, "limit": walk["limit"], **({"cursor": walk["cursor"]} if walk["cursor"] else {})}
        try:
            part = self.wiki.call(tool, **asked)
        except BadArgument as error:
            assert "cursor expired" in error.message
            assert walk["model"] != self.model, "nothing was edited: the cursor is still good"
            del self.walks[tool]
            return
        walk["found"] += [item[name] for item in part[items]]
        assert len(part[items]) == part["returned"] <= walk["limit"]
        if "nextCursor" in part:
            walk["cursor"] = part["nextCursor"]
            return
        del self.walks[tool]
        whole = self.wiki.call(tool, **more, limit=100)
        assert walk["found"] == [item[name] for item in whole[items]]
        assert len(walk["found"]) == whole["total"] == part["total"]

    # What the files say

    @precondition(lambda self: self.public())
    @rule(data=st.data())
    def read_a_page_part_by_part(self, data: st.DataObject) -> None:
        slug = data.draw(st.sampled_from(sorted(self.public())))
        joined = ""
        cursor: dict[str, str] = {}
        while True:
            (part,) = self.wiki.call("read_pages", slugs=[slug], **cursor)["pages"]
            joined += part["content"]
            if "nextCursor" not in part:
                break
            cursor = {"cursor": part["nextCursor"]}
        assert joined == self.public()[slug]

    @precondition(lambda self: self.public())
    @rule(word=st.sampled_from(WORDS))
    def search(self, word: str) -> None:
        found = {row["slug"] for row in self.wiki.call("retrieve_context", query=word)["pages"]}
        holding = {
            path.removesuffix(".md")
            for path, (_, said, open_) in self.model.items()
            if said == word and open_
        }
        assert bool(found & holding) == bool(holding)
        assert found <= set(self.public())

    @invariant()
    def the_pages_are_those_of_the_model(self) -> None:
        if getattr(self, "model", None) is None:
            return
        public = sorted(f"{slug}.md" for slug in self.public())
        if public:
            whole = self.wiki.call("list_pages", limit=200)
            assert whole["total"] == len(public)
            assert [row["slug"] for row in whole["pages"]] == [path.removesuffix(".md") for path in public]
        else:
            assert self.wiki.service.status(Caller())["index"]["pages"] == 0

    @rule()
    def restart(self) -> None:
        self.wiki.stop()
        self.walks.clear()


TestWikiAgainstModel = WikiAgainstModel.TestCase
TestWikiAgainstModel.settings = settings(
    max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)


VALUES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["barley", "a", "in/c", "works", "word", "\ud800", "\0", "1", "true", '["a"]']),
    st.integers(-10, 10**6),
    st.booleans(),
    st.none(),
    st.floats(),
    st.lists(st.text(max_size=10), max_size=3),
    st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=2),
)


def test_no_arguments_make_an_answer_over_its_budget_or_one_that_is_no_json(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, answer_tokens=CAP)
    for number, path in enumerate(PATHS):
        wiki.write(path, page(WORDS[number % len(WORDS)], True, 40 * number))
    specs = {spec.name: spec for spec in wiki.service.tools()}
    seen: set[str] = set()

    @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        spec = specs[data.draw(st.sampled_from(sorted(specs)))]
        properties = sorted(spec.input_schema["properties"])
        needed = spec.input_schema.get("required", [])
        names = [*needed, *data.draw(st.lists(st.sampled_from(properties or ["x"]), max_size=3))]
        arguments = {name: data.draw(VALUES) for name in names}
        try:
            answer = wiki.service.call(spec.name, arguments, Caller())
        except WikimcpError as error:
            assert error.code != "internal", (spec.name, arguments, str(error))
            assert len(str(error)) < 1_000
            return
        seen.add(spec.name)
        tokens = answer_tokens(Answer(answer.structured, answer.text))
        assert tokens <= _budget(spec.name, arguments), (spec.name, arguments, tokens)
        assert json.loads(json.dumps(answer.structured, allow_nan=False)) == answer.structured
        answer.text.encode()

    try:
        ask()
        assert len(seen) > len(specs) // 2
    finally:
        wiki.stop()


def _budget(tool: str, arguments: dict[str, Any]) -> int:
    """Return the most tokens that an answer may have: the cap, or the budget that the tool keeps itself."""
    found = load(tool)
    assert found is not None
    if not found.own_budget:
        return CAP
    return 24_000 if {"token_budget", "budget"} & arguments.keys() else 6_000
