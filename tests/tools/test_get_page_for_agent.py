"""get_page_for_agent: what it takes from a page, what it names when a part is missing, and its budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.bundle_wiki import SAMPLE_VAULT, BundleWiki, larger_channel, structured, wiki_of
from wikimcp.errors import Ambiguous, BadArgument, NotFound, TooLarge
from wikimcp.models import Caller

RUNBOOK = """\
---
title: Restart the kiln
type: runbook
cluster: works
canonical_id: 01KILN
owner: Hana Vrba
pager: [north, south]
port: 4471
secret_flag: true
nested: {a: 1}
updated_at: 2031-02-03
---
# Restart the kiln

The kiln must never be opened above 300 degrees. It is a fine kiln.

## When to use this

- the kiln is cold
- the night shift asks for it

## Before you start

Ask Hana.

## Do it

1. Close the door:

   ```sh
   # a comment, no heading
   kiln door --close
   ```

2. Light the fire.
   It takes 40 minutes.

10. Wait.

## Rollback

Put the fire out:

```sh
kiln stop
```

## Check that it burns

1. Look at the dial.

## Afterwards

Tell the shop.
"""
DECLARED = """\
---
title: Sweep the ash
type: Runbook
runbook:
  when_to_use: [Ash is deeper than 10 cm]
  steps:
    - Open the hatch
    - Sweep
  pitfalls: Hot ash.
  related_tools: [broom]
  unheard_of: [x]
---
# Sweep the ash

Why.

## Rollback

Put it back.
"""
RULES = """\
---
title: Rules
cluster: works
key_facts:
  - Nobody enters alone.
  - The gate shuts at 22:00.
limit: 12
---
# Rules

Kilns are pretty. See e.g. the 3 photos by Mr. Novak in the hall. This says nothing at all to anyone.

```
The code must never be a fact 42.
```

| table | 42 |
|---|---|
| must | 7 |

- A load is at most 250 kg, always.
- short
- What is the limit of 5?

## 制限

石炭は一日に必ず200キロまで。残りは倉庫に置く。

> The `draft` lever stays at **60 %**
> until the bell rings.
"""
PAGES = {
    "works/hub.md": "---\ntitle: Works\ntype: hub\ncluster: works\n---\n# Works\n\n[[rules]] [[kiln]]\n",
    "works/kiln.md": RUNBOOK,
    "works/ash.md": DECLARED,
    "works/rules.md": RULES,
    "works/bell.md": "---\ncluster: works\nupdated_at: 2031-01-01\n---\n# Bell\n\n[[rules]]\n",
    "loose.md": "# Loose\n\nNo cluster. [[bell]] and [[rules]].\n",
    "empty.md": "",
    "a/same.md": "# Same\n",
    "b/same.md": "# Same\n",
    "secret/merger.md": "---\ndraft: true\ncluster: works\n---\n# Merger\n\n[[rules]] The osprey closes in 40 days.\n",
}


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("works"), PAGES, embedder="none") as works:
        yield works


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("sample"), SAMPLE_VAULT, embedder="none") as vault:
        yield vault


def asked(wiki: BundleWiki, **arguments: object) -> dict[str, Any]:
    arguments = {"token_budget": 8_000, **arguments}
    return structured(wiki.call("get_page_for_agent", **arguments))


def facts(found: dict[str, Any]) -> list[str]:
    return [row["fact"] for row in found["keyFacts"]]


def test_metadata_outline_and_hints_are_those_of_the_page(wiki: BundleWiki) -> None:
    found = asked(wiki, slug="kiln")
    assert (found["slug"], found["handle"], found["canonicalId"]) == (
        "works/kiln",
        "works/kiln @ 1",
        "01KILN",
    )
    assert (found["type"], found["cluster"], found["updatedAt"]) == ("runbook", "works", "2031-02-03")
    headings = [row["heading"] for row in found["headingsOutline"]]
    assert headings[:3] == ["Restart the kiln", "When to use this", "Before you start"]
    assert "a comment, no heading" not in headings
    hints = found["agentHints"]
    assert [page["slug"] for page in hints["preferPages"]] == ["works/hub", "works/rules", "works/bell"]
    assert hints["preferPages"][0]["why"] == "hub of cluster works"
    assert hints["preferTools"] == ["read_pages", "assemble_bundle"]
    assert asked(wiki, slug="works/hub")["agentHints"]["preferTools"][0] == "get_briefing"
    loose = asked(wiki, slug="loose")["agentHints"]["preferPages"]
    assert [(page["slug"], page["why"]) for page in loose] == [
        ("works/bell", "linked from this page"),
        ("works/rules", "linked from this page"),
    ]


def test_facts_of_the_frontmatter_come_first_with_the_line_of_their_key(wiki: BundleWiki) -> None:
    kiln, rules = asked(wiki, slug="kiln"), asked(wiki, slug="rules")
    assert facts(kiln)[:3] == ["owner: Hana Vrba", "pager: north, south", "port: 4471"]
    assert [row["lines"] for row in kiln["keyFacts"][:3]] == [[6, 6], [7, 7], [8, 8]]
    assert {row["source"] for row in kiln["keyFacts"][:3]} == {"frontmatter"}
    assert facts(rules)[:3] == ["Nobody enters alone.", "The gate shuts at 22:00.", "limit: 12"]


def test_sentences_with_rules_numbers_and_names_are_facts_with_their_lines(wiki: BundleWiki) -> None:
    found = asked(wiki, slug="rules")
    said = facts(found)
    assert "A load is at most 250 kg, always." in said
    assert "See e.g. the 3 photos by Mr. Novak in the hall." in said
    assert "石炭は一日に必ず200キロまで。" in said
    assert "The `draft` lever stays at **60 %** until the bell rings." in said
    for absent in ("code must", "table", "limit of 5", "pretty", "short", "nothing at all"):
        assert not any(absent in fact for fact in said)
    file = wiki.file("works/rules").splitlines()
    for row in found["keyFacts"]:
        if row["source"] == "text":
            first, last = row["lines"]
            shown = " ".join(line.strip(" >-") for line in file[first - 1 : last])
            assert row["fact"] in shown


def test_a_runbook_is_read_from_its_sections_with_commands_as_they_are(wiki: BundleWiki) -> None:
    found = asked(wiki, slug="kiln")
    runbook = found["runbook"]
    assert list(runbook) == ["whenToUse", "steps", "rollback", "inputs", "verification", "afterwards"]
    assert [line["text"] for line in runbook["whenToUse"]] == [
        "the kiln is cold",
        "the night shift asks for it",
    ]
    assert [line["text"] for line in runbook["steps"]] == [
        "Close the door:\n\n```sh\n# a comment, no heading\nkiln door --close\n```",
        "Light the fire.\nIt takes 40 minutes.",
        "Wait.",
    ]
    line = RUNBOOK.splitlines().index("2. Light the fire.") + 1
    assert runbook["steps"][1]["lines"] == [line, line + 1] and runbook["steps"][1]["heading"] == "Do it"
    assert runbook["rollback"][0]["text"] == "Put the fire out:\n\n```sh\nkiln stop\n```"
    assert [line["text"] for line in runbook["verification"]] == ["Look at the dial."]
    assert facts(found)[3:] == ["The kiln must never be opened above 300 degrees."]  # no step said twice


def test_a_runbook_in_the_frontmatter_goes_before_the_sections(wiki: BundleWiki) -> None:
    runbook = asked(wiki, slug="ash")["runbook"]
    assert [line["text"] for line in runbook["steps"]] == ["Open the hatch", "Sweep"]
    assert runbook["whenToUse"] == [{"text": "Ash is deeper than 10 cm"}]
    assert runbook["pitfalls"] == [{"text": "Hot ash."}] and runbook["references"] == [{"text": "broom"}]
    assert runbook["rollback"][0]["text"] == "Put it back."
    assert "runbook" not in asked(wiki, slug="rules")


def test_the_title_of_a_runbook_names_no_part_of_it(sample: BundleWiki) -> None:
    runbook = asked(sample, slug="Rollback")["runbook"]
    assert "rollback" not in runbook
    assert any("berth rollback booking-service --to" in step["text"] for step in runbook["steps"])
    assert all(step["heading"] != "When the rollback does not help" for step in runbook["steps"])


def test_changes_come_from_the_ledger_newest_first_also_after_a_move(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"a.md": "---\nid: 01A\n---\n# A\n\nOne.\n"}, embedder="none") as edited:
        edited.write("a.md", "---\nid: 01A\n---\n# A\n\nTwo.\n")
        assert asked(edited, slug="a")["version"] == 2
        (edited.vault / "a.md").rename(edited.vault / "b.md")
        edited.write("b.md", "---\nid: 01A\n---\n# A\n\nThree.\n")
        changes = asked(edited, canonical_id="01A")["recentChanges"]
    assert [(change["version"], change["subject"]) for change in changes] == [
        (3, "content changed"),
        (2, "content changed"),
        (1, "first seen by the index"),
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", change["at"]) for change in changes)


def test_a_version_of_the_frontmatter_is_not_mixed_with_the_ledgers_count(sample: BundleWiki) -> None:
    found = asked(sample, slug="Rollback")
    assert found["version"] == 7
    assert [change.get("version") for change in found["recentChanges"]] == [7]


def test_parts_that_cannot_be_made_are_named_and_cost_no_other(tmp_path: Path) -> None:
    with wiki_of(tmp_path, {"a.md": "# A\n\nThe limit is 40 tons.\n"}, embedder="none") as works:
        assert asked(works, slug="a")["degraded"] == []
        for ledger in (tmp_path / "state").rglob("ledger*"):
            ledger.unlink()
        found = asked(works, slug="a")
        assert "recentChanges: there is no version ledger" in found["degraded"]
        assert "recentChanges" in found["missingFields"] and found["recentChanges"] == []
        assert facts(found) == ["The limit is 40 tons."]
        assert str(tmp_path) not in str(found)


@settings(max_examples=40, deadline=None)
@given(
    budget=st.integers(400, 2_500),
    name=st.sampled_from(["Rollback", "postgres-cluster", "東京オンコール引き継ぎ"]),
)
def test_no_answer_is_over_its_budget_and_what_is_left_out_is_named(
    sample: BundleWiki, budget: int, name: str
) -> None:
    answer = sample.call("get_page_for_agent", slug=name, token_budget=budget)
    assert larger_channel(answer) <= budget
    found = structured(answer)
    whole = asked(sample, slug=name)
    assert found["keyFacts"] == whole["keyFacts"][: len(found["keyFacts"])]
    if len(found["keyFacts"]) < len(whole["keyFacts"]):
        assert any(note.startswith("keyFacts: ") for note in found["notes"])
    again = structured(sample.call("get_page_for_agent", slug=name, token_budget=budget))
    assert {**again, "index": None} == {**found, "index": None}, "only the age of the index goes on"


def test_the_default_budget_is_1500_and_the_answer_cap_still_holds(
    tmp_path: Path, sample: BundleWiki
) -> None:
    answer = sample.call("get_page_for_agent", slug="Rollback")
    assert 1_200 < larger_channel(answer) <= 1_500
    with wiki_of(tmp_path, SAMPLE_VAULT, embedder="none", flags={"answer_tokens": 700}) as capped:
        assert larger_channel(capped.call("get_page_for_agent", slug="Rollback")) <= 700


def test_metadata_that_are_over_the_budget_are_refused_with_what_to_do(tmp_path: Path) -> None:
    tags = ", ".join(f"{'標' * 55}{n}" for n in range(12))
    pages = {f"{'深' * 40}/{'名' * 60}.md": f"---\ntags: [{tags}]\nsummary: {'要' * 300}\n---\nText.\n"}
    with (
        wiki_of(tmp_path, pages, embedder="none") as long,
        pytest.raises(TooLarge, match="Raise token_budget"),
    ):
        long.call("get_page_for_agent", slug="名" * 60, token_budget=400)


def test_every_fact_is_in_the_text_and_vault_text_stays_inside_its_bounds(wiki: BundleWiki) -> None:
    answer = wiki.call("get_page_for_agent", slug="rules", token_budget=4_000)
    for row in structured(answer)["keyFacts"]:
        assert row["fact"] in answer.text
    mark = re.match(r"<vault-text ([0-9a-f]{8})>\n", answer.text)
    assert mark is not None
    outside = answer.text.partition(f"</vault-text {mark[1]}>")[2]
    assert outside.startswith("\nindex: ")


# Bad input


def test_a_page_must_be_named_and_only_one(wiki: BundleWiki) -> None:
    with pytest.raises(BadArgument, match="needs slug or canonical_id"):
        asked(wiki, slug="  ")
    with pytest.raises(BadArgument, match="name two pages: works/rules and works/kiln"):
        asked(wiki, slug="rules", canonical_id="01KILN")
    assert asked(wiki, slug="kiln", canonical_id="01KILN")["slug"] == "works/kiln"
    with pytest.raises(NotFound, match="no page named 'kilm'"):
        asked(wiki, slug="kilm")
    with pytest.raises(NotFound, match="no page has the id '01KILM'"):
        asked(wiki, canonical_id="01KILM")
    with pytest.raises(Ambiguous, match="'same' names 2 pages"):
        asked(wiki, slug="same")


def test_a_budget_outside_its_range_is_clamped_and_noted(wiki: BundleWiki) -> None:
    low = structured(wiki.call("get_page_for_agent", slug="bell", token_budget=5))
    assert low["notes"][0] == "token_budget 5 is below its minimum: 400 was used"
    assert "above its maximum" in asked(wiki, slug="bell", token_budget=10**9)["notes"][0]


def test_an_empty_page_is_described_with_what_it_lacks(wiki: BundleWiki) -> None:
    found = asked(wiki, slug="empty")
    assert (found["keyFacts"], found["headingsOutline"], found["tokens"]) == ([], [], 0)
    assert "summary" in found["missingFields"]


def test_a_withheld_page_is_missing_everywhere(wiki: BundleWiki) -> None:
    with pytest.raises(NotFound) as withheld:
        asked(wiki, slug="secret/merger")
    with pytest.raises(NotFound) as never:
        asked(wiki, slug="secret/margar")
    assert str(withheld.value).replace("merger", "margar") == str(never.value)
    for name in ("rules", "kiln", "works/hub"):
        assert "merger" not in str(asked(wiki, slug=name))


def test_a_draft_is_shown_where_operator_and_caller_both_want_it(tmp_path: Path) -> None:
    with wiki_of(tmp_path, PAGES, embedder="none", flags={"drafts.allow": True}) as works:
        editor = Caller(may_see_drafts=True)
        answer = works.call("get_page_for_agent", editor, slug="merger", include_drafts=True)
        assert structured(answer)["draft"] is True
