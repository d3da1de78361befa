"""What is taken for a secret or personal data, and what is not."""

from __future__ import annotations

import pytest

from wikimcp.authoring.secrets import scan

B62 = (
    "q7Zk3mR9tXw2Lc8VbN4sYf6HjD1gPaE5uTo0"  # no key of anybody: letters and digits as a generator gives them
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE", "private-key"),
        ("-----BEGIN " + "PRIVATE KEY-----", "private-key"),
        ("aws: AKIA" + "QZ7MR3TXW2LC8VBN", "aws-access-key"),
        ("token ghp_" + B62, "github-token"),
        ("glpat-" + B62[:20], "gitlab-token"),
        ("xoxb-" + "224466880011-" + B62[:24], "slack-token"),
        ("sk_live_" + B62[:24], "stripe-key"),
        ("AIza" + B62[:35], "google-api-key"),
        ("npm_" + B62, "npm-token"),
        ("hf_" + B62[:34], "hugging-face-token"),
        (
            "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiI0MjQyNDIifQ" + ".dBjftJeZ4CVPmB92K27uhbUJU1p1r",
            "jwt",
        ),
        ("postgres://app:s3cr3tW0rd@db.corp.io:5432/app", "connection-string"),
        ("Authorization: Bearer " + B62, "bearer-token"),
        ("api_key = '" + B62[:24] + "'", "assigned-secret"),
        ("DB_PASSWORD=" + B62[:20], "assigned-secret"),
        ("ask anna.schmidt@wikicorp.dev", "email"),
        ("call +49 170 8364912", "phone"),
        ("call (415) 867-5309", "phone"),
    ],
)
def test_a_secret_is_found_with_its_line_and_never_shown(text: str, rule: str) -> None:
    found = scan(f"one\ntwo\n{text}\n")
    assert [(item.rule, item.line) for item in found] == [(rule, 3)]
    assert len(found[0].excerpt.split("…")[0]) <= 4
    assert found[0].fingerprint not in repr(found[0])


@pytest.mark.parametrize(
    "text",
    [
        "The token is checked against the deny list; the secret stays in the vault.",
        "token: the thing that proves who you are",
        "password = os.environ['DB_PASSWORD']",
        "api_key = '<your key>'",
        "API_KEY=changeme-please-change",
        "export TOKEN=${TOKEN}",
        "AKIAIOSFODNN7EXAMPLE",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://user:password@localhost/app",
        "postgres://user:<password>@host/app",
        "git@github.com:acme/tool.git",
        "mail to somebody@example.com or noreply@wikicorp.dev",
        "logo@2x.png and postgres@14.service",
        "@pytest.mark.parametrize",
        "2026-11-30 12:30:45, version 1.2.3.4, port 8080-8090",
        "commit 3b5d5c3712955042212316173ccf37be8b7a1f02",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "call 555-0123 or +1 202 555 0143",
        "ISBN 978-3-16-148410-0, 1+1=2, range 100-200-300",
        "src/auth/jwt.py#L45-L89 and ADR-0042",
        "-----BEGIN PUBLIC KEY-----",
    ],
)
def test_what_only_looks_a_little_like_one_is_left_alone(text: str) -> None:
    assert scan(text) == []
