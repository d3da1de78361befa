"""Each fixture vault against a hand-written table: pages, titles, links, graph rows; and adapters against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.vaults.dialects import DIALECTS, fixture_copy, put, served
from wikimcp.models import Caller

Rows = Mapping[str, str]


@dataclass(frozen=True)
class Expected:
    """What a reader of the dialect's own program would say: titles by slug, and edges without headings.

    ``edges`` are ``source relation target``; ``page:`` is left out. ``others`` are the kinds of the nodes
    that are no pages and no headings.
    """

    titles: Rows
    edges: frozenset[str]
    others: Rows = field(default_factory=dict)
    headings: frozenset[str] = frozenset()


def rows(text: str) -> frozenset[str]:
    return frozenset(" ".join(line.split()) for line in text.strip().splitlines())


EXPECTED = {
    "obsidian": Expected(
        titles={"Harbour": "Harbour", "log/Signals": "Signals", "log/Tide tables": "Tide tables"},
        edges=rows("""
            Harbour links_to log/Signals
            Harbour links_to log/Tide tables
            Harbour related_to log/Tide tables
            Harbour embeds log/Signals
            Harbour links_to source:chart.png
            Harbour tagged tag:place
            Harbour tagged tag:place/water
            log/Signals links_to Harbour
            log/Signals links_to placeholder:Lost page
            log/Signals tagged tag:signal/sound
            log/Tide tables links_to Harbour
        """),
        others={
            "source:chart.png": "attachment",
            "placeholder:Lost page": "placeholder",
            "tag:place": "tag",
            "tag:place/water": "tag",
            "tag:signal/sound": "tag",
        },
        headings=frozenset(
            ("Harbour#Harbour", "log/Signals#Signals", "log/Signals#Signals#Fog", "log/Signals#Signals#Clear")
            + ("log/Tide tables#Tide tables",)
        ),
    ),
    "logseq": Expected(
        titles={
            "Area/Pump": "Area/Pump",
            "Area/Valve": "Area/Valve",
            "Workshop": "Workshop",
            "Shown name": "Shown name",
            "a.b": "a.b",
            "machine": "machine",
            "2031_02_03": "Feb 3rd, 2031",
            "2031_02_04": "Feb 4th, 2031",
        },
        edges=rows("""
            Area/Pump tagged tag:machine
            Area/Pump tagged tag:spare parts
            Area/Pump links_to machine
            Area/Pump links_to placeholder:spare parts
            Area/Pump owner placeholder:Mara
            Area/Pump links_to placeholder:Mara
            Area/Pump links_to Area/Valve
            Area/Valve links_to 2031_02_03
            Area/Valve links_to Area/Pump
            Area/Valve embeds a.b
            Shown name links_to placeholder:A page nobody wrote
            a.b links_to source:assets/valve.png
            Workshop links_to 2031_02_03
            Workshop links_to Area/Valve
            Workshop links_to Area/Pump
            Workshop links_to external:https://x.test/stone
            Workshop tagged tag:tools
            Workshop tagged tag:wood
            Workshop tagged tag:iron
            Workshop links_to placeholder:tools
            Workshop links_to placeholder:wood
            Workshop links_to placeholder:iron
            2031_02_03 links_to Area/Pump
            2031_02_03 links_to Workshop
            2031_02_03 tagged tag:maintenance
            2031_02_03 links_to placeholder:maintenance
            2031_02_04 links_to 2031_02_03
        """),
        others={
            "placeholder:spare parts": "stub",
            "placeholder:Mara": "stub",
            "placeholder:A page nobody wrote": "stub",
            "placeholder:maintenance": "stub",
            "placeholder:tools": "stub",
            "placeholder:wood": "stub",
            "placeholder:iron": "stub",
            "source:assets/valve.png": "attachment",
            "external:https://x.test/stone": "external",
            "tag:machine": "tag",
            "tag:spare parts": "tag",
            "tag:tools": "tag",
            "tag:wood": "tag",
            "tag:iron": "tag",
            "tag:maintenance": "tag",
        },
        headings=frozenset(
            ("Workshop#Sharpen the plane", "Workshop#Sharpen the plane#Whetstone", "Workshop#Glue")
        ),
    ),
    "dendron": Expected(
        titles={
            "root": "Field",
            "survey.2031": "Survey",
            "main/notes/root": "Handbook",
            "oven": "Ovens",
            "oven.brick.door": "Hinge",
        },
        edges=rows("""
            oven parent_of placeholder:oven.brick
            placeholder:oven.brick parent_of oven.brick.door
            placeholder:survey parent_of survey.2031
            root links_to survey.2031
            survey.2031 links_to root
            survey.2031 links_to main/notes/root
            survey.2031 parent root
            main/notes/root links_to oven
            main/notes/root links_to oven.brick.door
            oven links_to oven.brick.door
            oven links_to source:main/notes/drawing.png
            oven links_to placeholder:not this form
            oven.brick.door links_to survey.2031
            oven.brick.door links_to oven
            oven.brick.door embeds oven
        """),
        others={
            "placeholder:oven.brick": "stub",
            "placeholder:survey": "stub",
            "placeholder:not this form": "placeholder",
            "source:main/notes/drawing.png": "attachment",
        },
        headings=frozenset(("oven.brick.door#Hinge", "survey.2031#Heat")),
    ),
    "foam": Expected(
        titles={"inbox": "Inbox", "todo": "Todo", "garden/bee-keeping": "Bee keeping"},
        edges=rows("""
            inbox links_to garden/bee-keeping
            inbox links_to todo
            todo tagged tag:list
            todo tagged tag:garden/bees
            garden/bee-keeping links_to inbox
        """),
        others={"tag:list": "tag", "tag:garden/bees": "tag"},
        headings=frozenset(("inbox#Inbox", "todo#Todo", "garden/bee-keeping#Bee keeping")),
    ),
    "quartz": Expected(
        titles={
            "index": "Sky notes",
            "moon": "The moon",
            "stars/Vega": "Vega",
            "stars/private/Deneb": "Deneb",
        },
        edges=rows("""
            index links_to stars/Vega
            index links_to moon
            index embeds stars/Vega
            moon links_to index
            moon links_to stars/Vega
            moon tagged tag:sky/near
            stars/Vega links_to moon
            stars/private/Deneb links_to stars/Vega
        """),
        others={"tag:sky/near": "tag"},
        headings=frozenset(("stars/Vega#Colour",)),
    ),
    "llmwiki": Expected(
        titles={
            "Index": "Bakery wiki",
            "hot": "Hot",
            "concepts/Sourdough": "Sourdough",
            "entities/Salt": "Salt",
        },
        edges=rows("""
            hot links_to concepts/Sourdough
            Index links_to concepts/Sourdough
            concepts/Sourdough links_to entities/Salt
            concepts/Sourdough cites source:raw/interview.md
            entities/Salt links_to concepts/Sourdough
        """),
        others={"source:raw/interview.md": "source"},
        headings=frozenset(("hot#Hot", "Index#Bakery wiki", "entities/Salt#Salt")),
    ),
    "generic": Expected(
        titles={"README": "Boat shed", "docs/rules": "Rules", "docs/my keys": "my keys"},
        edges=rows("""
            README links_to docs/rules
            README links_to docs/my keys
            docs/my keys links_to README
            docs/my keys links_to placeholder:Keys nobody made
            docs/rules links_to README
            docs/rules links_to source:docs/plan.svg
        """),
        others={"placeholder:Keys nobody made": "placeholder", "source:docs/plan.svg": "attachment"},
        headings=frozenset(("README#Boat shed", "docs/rules#Rules", "docs/rules#Rules#Tools")),
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fixture_vault_gives_the_pages_links_and_rows_of_its_table(dialect: str, tmp_path: Path) -> None:
    expected = EXPECTED[dialect]
    with served(fixture_copy(dialect, tmp_path)) as wiki:
        graph = wiki.service.graph(Caller())
    titles = {
        row["id"].removeprefix("page:"): row["label"] for row in graph["nodes"] if row["kind"] == "page"
    }
    assert titles == expected.titles
    found = {
        f"{row['source'].removeprefix('page:')} {row['relation']} {row['target'].removeprefix('page:')}"
        for row in graph["edges"]
        if row["relation"] != "contains"
    }
    assert found == expected.edges
    others = {row["id"]: row["kind"] for row in graph["nodes"] if row["kind"] not in ("page", "heading")}
    assert others == expected.others
    headings = {row["id"].removeprefix("heading:") for row in graph["nodes"] if row["kind"] == "heading"}
    assert headings == expected.headings
    assert "marker-" not in str(graph)


SAME = {
    "one.md": "---\naliases: [Uno]\ntags: [a, b/c]\nrelated: [two]\n---\n# One\n\nTo [[two]], [[Two#Part]], [[Uno]] and [[gone]].\n",
    "two.md": "# Two\n\n## Part\n\nBack to [one](one.md), ![[one]] and <https://x.org>. depends\n\nuses:: [[one]]\n",
    "deep/three.md": "---\ntitle: Three\ntype: concept\ndraft: false\n---\nSee [[one|first]] and [[deep/three]]. `[[code]]`\n",
    "deep/hidden.md": "---\ndraft: true\n---\n[[one]] marker-hidden\n",
}
SIGNS = {
    "obsidian": {".obsidian/app.json": "{}"},
    "foam": {".foam/templates/x.txt": ""},
    "quartz": {"quartz.config.ts": "export default {}"},
    "generic": {},
}


def test_adapters_that_read_the_same_files_agree_on_pages_and_graph(tmp_path: Path) -> None:
    told = {}
    for dialect, signs in SIGNS.items():
        vault = put(tmp_path / dialect / "vault", SAME | signs)
        with served(vault) as wiki:
            assert wiki.service.status(Caller())["adapter"] == dialect
            told[dialect] = wiki.service.graph(Caller())
            told[dialect]["counts"] = wiki.call("discover_schema")["totals"]
    assert told["obsidian"] == told["foam"] == told["quartz"] == told["generic"]
    edges = {(row["source"], row["relation"], row["target"]) for row in told["generic"]["edges"]}
    assert ("page:two", "uses", "page:one") in edges
    assert ("page:one", "links_to", "placeholder:gone") in edges


def test_names_with_dots_are_a_hierarchy_in_dendron_alone(tmp_path: Path) -> None:
    files = {"a.b.c.md": "# C\n", "a.md": "# A\n", "dir.x/y.z.md": "# Z\n"}
    with served(
        put(tmp_path / "dendron" / "vault", {**files, "dendron.yml": "version: 5\nvaults:\n- fsPath: .\n"})
    ) as wiki:
        graph = wiki.service.graph(Caller())
    parents = {(row["source"], row["target"]) for row in graph["edges"] if row["relation"] == "parent_of"}
    assert parents == {
        ("page:a", "placeholder:a.b"),
        ("placeholder:a.b", "page:a.b.c"),
        ("placeholder:dir.x/y", "page:dir.x/y.z"),
    }
    with served(put(tmp_path / "generic" / "vault", files)) as wiki:
        assert not [row for row in wiki.service.graph(Caller())["edges"] if row["relation"] == "parent_of"]


def test_a_withheld_parent_note_is_the_stub_of_a_note_that_is_not_there(tmp_path: Path) -> None:
    told = []
    for name, front in (("with", "---\ndraft: true\n---\n"), ("without", "")):
        files = {"a.md": "# A\n", "a.b.c.md": "# C\n", "dendron.yml": "version: 5\nvaults:\n- fsPath: .\n"}
        if front:
            files["a.b.md"] = f"{front}# Secret\n"
        with served(put(tmp_path / name / "vault", files)) as wiki:
            told.append(wiki.service.graph(Caller()))
    assert told[0] == told[1]
