"""A lint report as SARIF 2.1.0, which code hosts and editors show beside the lines it speaks of."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any
from urllib.parse import quote

from wikimcp.authoring.lint_report import RULES, Finding, LintReport, Rule, part_row

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "VAULT"


def sarif(report: LintReport, *, version: str) -> dict[str, Any]:
    """Return the whole report as one SARIF log with one run; ``version`` is that of this program.

    Places are relative to the root of the vault, columns count characters from 1.
    """
    index = {rule.code: number for number, rule in enumerate(RULES)}
    seen: Counter[str] = Counter()
    results = []
    for finding in report.findings:
        mark = _fingerprint(finding)
        seen[mark] += 1
        results.append(_result(finding, index[finding.rule.code], f"{mark}:{seen[mark]}"))
    driver = {"name": "wikimcp", "version": version, "rules": [_rule(rule) for rule in RULES]}
    run = {
        "tool": {"driver": driver},
        "originalUriBaseIds": {_BASE: {"description": {"text": "The root of the vault."}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": note}} for note in report.notes
                ],
            }
        ],
        "properties": {
            "ok": report.ok,
            "score": report.score,
            "pages": report.measured.pages,
            "scoreParts": [part_row(part) for part in report.parts],
        },
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.hint},
        "defaultConfiguration": {"level": rule.level},
        "properties": {"key": rule.key},
    }


def _result(finding: Finding, index: int, mark: str) -> dict[str, Any]:
    region = {"startLine": finding.line, **({"startColumn": finding.column} if finding.column else {})}
    uri = quote(finding.page, safe="/", errors="surrogateescape")
    place = {"artifactLocation": {"uri": uri, "uriBaseId": _BASE}, "region": region}
    hint = finding.hint or finding.rule.hint
    return {
        "ruleId": finding.rule.code,
        "ruleIndex": index,
        "level": finding.rule.level,
        "message": {"text": f"{finding.message}. {hint}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"wikimcpLint/v1": mark},
    }


def _fingerprint(finding: Finding) -> str:
    """Return what stays the same while the lines around a finding move."""
    told = f"{finding.rule.code}\0{finding.page}\0{finding.message}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]
