"""What `wikimcp keys` takes."""

from __future__ import annotations

from wikimcp.cli.parsing import Verbs


def add_keys(verbs: Verbs) -> None:
    """Add the verb."""
    keys = verbs.add(
        "keys",
        "create, list or revoke API keys for HTTP",
        prints="Prints a new key once, on stdout; only its hash is stored. Servers that run see new and "
        "revoked keys at once. Once there is a key, `serve --http` answers nobody without one.",
        examples=[
            "wikimcp keys create ci                                 may read",
            "wikimcp keys create ana --label board --expires 90d    also pages with `visibility: board`",
            "wikimcp keys create editor --scope mcp_read --scope drafts",
            "wikimcp keys list",
            "wikimcp keys revoke ci",
        ],
        more="scopes: mcp_read (what every route asks for), drafts (withheld drafts, where the server runs "
        "with\n  --allow-drafts), author (the authoring profile). Without --scope a key has mcp_read.",
    )
    keys.add_argument("action", choices=["create", "list", "revoke"], metavar="create|list|revoke")
    keys.add_argument("name", nargs="?", metavar="NAME", help="the key: letters, digits and . _ @ -")
    keys.add_argument("--scope", action="append", metavar="SCOPE", help="what it allows; may be given again")
    keys.add_argument("--label", action="append", metavar="LABEL", help="pages it opens; may be given again")
    keys.add_argument("--expires", default="", metavar="WHEN", help="a span (30d), a date or a time")
