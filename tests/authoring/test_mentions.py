"""What a page says of its sources: read in any form a head may have, and edited to the character."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.authoring.compiled_wiki import Project, small_project
from wikimcp.authoring.mentions import read_mentions, with_mentions, with_retired
from wikimcp.authoring.okf import read_head
from wikimcp.authoring.pages import Page
from wikimcp.authoring.workspace import Workspace

AROUND = [
    "title: \U0001f600 x",
    'description: "\\u00e9 \u2028 y"',
    "# \U0001f680 resource: ../../src/no.py#L1",
    "tags: [a, b]",
    "x: |\n  resource: ../../src/no.py#L1-L2\n  - more",
    "y: 'it''s'",
    "? complex\n: v",
]
FORMS = [
    "  - id: s\n    resource: {value}  # \U0001f600",
    "  - {{ id: s, resource: {value}, title: \U0001f600 }}",
    "  - {value}",
    "  - resource: {value}\n    title: z",
]


@pytest.fixture
def project(workspace: Workspace) -> Project:
    return small_project(workspace)


def _page(text: str) -> Page:
    return Page("entities/a.md", text, read_head(text), "", ())


def test_whatever_stands_around_them_mentions_are_found_edited_and_marked_to_the_character(
    project: Project,
) -> None:
    chance = random.Random(3)
    for _ in range(120):
        written, items = [], []
        for number in range(chance.randrange(1, 4)):
            value = f"../../src/a{number}.py#L{number + 1}-L{number + 3}"
            quoted = chance.choice(["{0}", "'{0}'", '"{0}"']).format(value)
            items.append((chance.choice(FORMS), quoted))
            written.append(value)
        lines = ["type: M", *chance.sample(AROUND, 3)]
        at = chance.randrange(len(lines) + 1)
        newline, mark = chance.choice(["\n", "\r\n"]), chance.choice(["", "\ufeff"])

        def text(
            quoted: list[str],
            *,
            at: int = at,
            lines: list[str] = lines,
            items: list[tuple[str, str]] = items,
            newline: str = newline,
            mark: str = mark,
        ) -> str:
            listed = [form.format(value=value) for (form, _), value in zip(items, quoted, strict=True)]
            head = [*lines[:at], "sources:", *listed, *lines[at:]]
            return mark + "\n".join(["---", *head, "---", "", "Body \U0001f600.", ""]).replace("\n", newline)

        page = _page(text([quoted for _, quoted in items]))
        found = read_mentions(project.workspace, page, lambda _path: True)
        assert [mention.written for mention in found] == written
        assert [mention.path for mention in found] == [
            value.split("/")[2] + "/" + value.split("/")[3].split("#")[0] for value in written
        ]
        moved = with_mentions(project.workspace, page.path, page.text, [(m, m.path, 70, 90) for m in found])
        assert moved == text(
            [quoted.replace(quoted.split("#")[1].rstrip("'\""), "L70-L90") for _, quoted in items]
        )
        retired = with_retired(page.text, found, "2026-03-14")
        again = read_mentions(project.workspace, _page(retired), lambda _path: True)
        assert [(m.written, m.retired) for m in again] == [(value, True) for value in written]
        assert retired.replace(f"{newline}    retired: 2026-03-14", "").count("retired") <= len(found)


def test_prose_is_searched_outside_of_fences_and_addresses(project: Project) -> None:
    body = (
        "See `src/checks.py#L4-L6`, [it](../../src/checks.py#L4) and file:src/checks.py#L9-11.\n\n"
        "```py\nsrc/checks.py#L1\n```\n\nhttps://example.com/src/checks.py#L2.\n"
    )
    page = _page(f"---\ntype: M\n---\n\n{body}")
    found = read_mentions(project.workspace, page, lambda path: path == "src/checks.py")
    assert [(m.path, m.first, m.last, m.line, m.head) for m in found] == [
        ("src/checks.py", 4, 6, 5, False),
        ("src/checks.py", 4, 4, 5, False),
        ("src/checks.py", 9, 11, 5, False),
    ]


def test_a_path_counts_from_the_page_then_from_the_project_then_from_its_roots(project: Project) -> None:
    workspace = replace(Workspace.open(project.root, raw_roots=("code=src",)), clock=project.workspace.clock)
    listed = ["../../src/checks.py", "src/checks.py", "checks.py", f"file://{project.root}/src/checks.py#L4"]
    text = "---\nsources:\n" + "".join(f"  - {value}\n" for value in listed) + "---\n"
    found = read_mentions(workspace, _page(text), lambda path: path == "src/checks.py")
    assert [m.path for m in found] == ["src/checks.py"] * 4
    moved = with_mentions(workspace, "entities/a.md", text, [(m, "src/other.py", 0, 0) for m in found])
    assert moved.splitlines()[2:6] == [
        "  - ../../src/other.py",
        "  - src/other.py",
        "  - other.py",
        f'  - "file://{project.root}/src/other.py"',
    ]
