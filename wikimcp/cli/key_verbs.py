"""`wikimcp keys`: create, list and revoke API keys. No vault is needed."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from wikimcp.cli.parsing import UsageError, settings_flags
from wikimcp.cli.show import print_json, print_table
from wikimcp.settings import load_http

if TYPE_CHECKING:
    from wikimcp.access.key_file import KeyFile
    from wikimcp.access.keys import ApiKey


def keys(arguments: argparse.Namespace) -> int:
    """Create, list or revoke, as the first argument says."""
    from wikimcp.access.key_file import KeyFile

    if arguments.action != "list" and not arguments.name:
        raise UsageError(f"keys {arguments.action} needs a name", hint=f"As in keys {arguments.action} ci.")
    if arguments.action != "create" and (arguments.scope or arguments.label or arguments.expires):
        raise UsageError("--scope, --label and --expires belong to keys create")
    flags = settings_flags(arguments)
    flags.pop("vault", None)
    file = KeyFile(load_http(flags).keys_file)
    return {"create": _create, "list": _list, "revoke": _revoke}[arguments.action](arguments, file)


def _create(arguments: argparse.Namespace, file: KeyFile) -> int:
    from wikimcp.access.keys import mint

    scopes = arguments.scope or ["mcp_read"]
    key, text = mint(
        arguments.name,
        scopes=scopes,
        labels=arguments.label or (),
        expires=arguments.expires,
        now=datetime.now(UTC),
    )
    file.add(key)
    if getattr(arguments, "json", False):
        print_json({**_facts(key), "key": text})
    else:
        print(text)
        print("wikimcp: keep it now, it is not shown again", file=sys.stderr)
    if "mcp_read" not in key.scopes:
        print("wikimcp: this key may not read: every route needs the scope mcp_read", file=sys.stderr)
    return 0


def _list(arguments: argparse.Namespace, file: KeyFile) -> int:
    facts = [_facts(key) for key in file.read()]
    if getattr(arguments, "json", False):
        print_json({"keys": facts})
        return 0
    columns = ["name", "state", "scopes", "labels", "created", "expires"]
    rows = [[_cell(fact[column]) for column in columns] for fact in facts]
    print_table(columns, rows)
    return 0


def _revoke(arguments: argparse.Namespace, file: KeyFile) -> int:
    file.revoke(arguments.name)
    if getattr(arguments, "json", False):
        print_json({"revoked": arguments.name})
    else:
        print(f"revoked {arguments.name}")
    return 0


def _facts(key: ApiKey) -> dict[str, object]:
    return {
        "name": key.name,
        "state": "expired" if key.expired(datetime.now(UTC)) else "valid",
        "scopes": sorted(key.scopes),
        "labels": sorted(key.labels),
        "created": key.created,
        "expires": key.expires,
    }


def _cell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
