"""Conformance to the Open Knowledge Format, both ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from wikimcp.authoring.okf_check import check_okf
from wikimcp.errors import BadArgument, WikiError

GOOD = {
    "index.md": '---\nokf_version: "0.2"\n---\n\n# Things\n\n* [A](a.md) - the first\n',
    "log.md": "# Log\n\n## 2026-03-02\n* **Update**: x\n\n## 2026-03-01\n* **Creation**: y\n",
    "a.md": "---\ntype: Thing\ntitle: A\ndescription: The first.\nunknown: [1, {a: b}]\n---\n\nText.[^s]\n\n[^s]: S\n".replace(
        "unknown",
        "sources: [{id: s, resource: 'https://example.org'}]\ngenerated: {by: x/1, at: 2026-03-01T10:00:00Z}\nunknown",
    ),
    "sub/index.md": "# Sub\n",
    ".hidden/x.md": "no head",
}


def made(root: Path, **changed: str) -> Path:
    for name, text in {
        **GOOD,
        **{key.replace("__", "/") + ".md": value for key, value in changed.items()},
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_good_bundle_conforms_to_every_version_without_a_word(tmp_path: Path) -> None:
    report = check_okf(made(tmp_path))
    assert (report.ok, report.declared, report.version, report.pages, report.findings) == (
        True,
        "0.2",
        "0.2",
        1,
        (),
    )
    assert report.to_json()["conformant"] == {"0.1": True, "0.2": True, "0.3": True}


@pytest.mark.parametrize(
    ("changed", "rule", "place"),
    [
        ({"a": "Text without a head.\n"}, "no-head", ("a.md", 1)),
        ({"a": "---\ntitle: A\n---\n"}, "no-type", ("a.md", 1)),
        ({"a": "---\ntitle: A\ntype: ''\n---\n"}, "no-type", ("a.md", 3)),
        ({"a": "---\ntype: [x]\n---\n"}, "no-type", ("a.md", 2)),
        ({"a": "---\ntype: T\nb: [\n---\n"}, "head-unreadable", ("a.md", 4)),
        ({"sub__index": "---\nokf_version: '0.2'\n---\n# Sub\n"}, "index-head", ("sub/index.md", 1)),
        ({"index": "---\nokf_version: '0.2'\ntitle: x\n---\n# Sub\n"}, "index-head", ("index.md", 1)),
        ({"index": "\n* [A](a.md)\n\n# Late\n"}, "index-structure", ("index.md", 2)),
        ({"log": "# Log\n\n## March 2026\n* x\n"}, "log-date", ("log.md", 3)),
        ({"log": "# Log\n\n## 2026-02-30\n* x\n"}, "log-date", ("log.md", 3)),
        ({"log": "# Log\n\n## 2026-02-01\n* x\n\n## 2026-02-02\n* y\n"}, "log-order", ("log.md", 6)),
    ],
)
def test_what_a_version_requires_is_an_error_with_its_line(
    tmp_path: Path, changed: dict[str, str], rule: str, place: tuple[str, int]
) -> None:
    report = check_okf(made(tmp_path, **changed))
    errors = [item for item in report.findings if item.level == "error"]
    assert [(item.rule, (item.file, item.line)) for item in errors] == [(rule, place)]
    assert not report.ok and not report.conforms("0.1") and not report.conforms("0.3")


@pytest.mark.parametrize(
    ("head", "rule"),
    [
        ("sources: [{title: x}]", "source-without-resource"),
        ("generated: {at: 2026-01-01T00:00:00Z}", "generated-without-by"),
        ("generated: {by: somebody}", "no-actor"),
        ("generated: {by: a/1, at: 2026-01-01T00:00:00}", "generated-at"),
        ("verified: {by: 'human:x', at: soon}", "verified-at"),
        ("status: proposed", "status"),
        ("stale_after: in May", "stale-after"),
        ("timestamp: 2026-01-01T00:00:00Z", "legacy-timestamp"),
        ("sources: [{id: other, resource: x}]", "footnote-without-source"),
    ],
)
def test_the_rest_is_advice_from_version_two_on(tmp_path: Path, head: str, rule: str) -> None:
    text = f"---\ntype: T\ntitle: A\ndescription: b\n{head}\n---\n\nText.[^s]\n\n[^s]: S\n"
    report = check_okf(made(tmp_path, a=text))
    assert [(item.level, item.rule) for item in report.findings] == [("advice", rule)]
    assert report.ok and report.findings[0].versions == ("0.2", "0.3")


def test_another_encoding_and_another_declared_version_are_named(tmp_path: Path) -> None:
    root = made(tmp_path, index="---\nokf_version: '1.7'\n---\n")
    (root / "b.md").write_bytes(b"---\ntype: T\ntitle: \xff\n---\n")
    report = check_okf(root)
    assert [(item.rule, item.file, item.line) for item in report.findings] == [
        ("not-utf-8", "b.md", 3),
        ("unknown-version", "index.md", 1),
    ]
    assert report.version == "0.2"
    with pytest.raises(BadArgument):
        check_okf(root, version="0.9")
    with pytest.raises(WikiError):
        check_okf(root / "nowhere")
