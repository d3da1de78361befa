"""How the command line parses: complaints with a hint, and verbs that share options and a form of help.

Which verbs there are is the matter of `arguments` and of the modules it gathers them from.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from typing import NoReturn

from wikimcp.errors import WikimcpError, nearest


class UsageError(WikimcpError):
    """The command line itself is wrong: an unknown verb or option, a missing or unreadable argument."""

    code = "usage"


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are UsageErrors with a hint."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing usage and leaving."""
        raise UsageError(message, hint=f"See `{self.prog} --help`.")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse an unknown option with the nearest one that exists."""
        known, extra = super().parse_known_args(args, namespace)
        unknown = next((word for word in extra if word.startswith("-")), None)
        if unknown is not None:
            raise self.unknown_option(unknown)
        return known, extra

    def takes(self, word: str) -> bool:
        """Tell whether a word is one of this parser's options."""
        return word.partition("=")[0] in self._option_string_actions

    def unknown_option(self, word: str) -> UsageError:
        """Make the error for an option that does not exist, with the nearest that do."""
        name = word.partition("=")[0]
        near = nearest(name, list(self._option_string_actions), limit=2) if len(name) > 2 else []
        hint = f"Did you mean {' or '.join(near)}?" if near else f"See `{self.prog} --help`."
        if "QUESTION" in self.format_usage():
            hint += " Put -- before a question that starts with a dash."
        return UsageError(f"there is no option {name[:80]}", hint=hint)


class Verbs:
    """Adds verbs that all share the common options and one form of help."""

    def __init__(self, verbs: argparse._SubParsersAction[Parser], common: Parser) -> None:
        self._verbs, self._common = verbs, common

    def add(
        self,
        name: str,
        summary: str,
        *,
        prints: str,
        examples: Sequence[str] = (),
        more: str = "",
        aliases: Sequence[str] = (),
    ) -> argparse.ArgumentParser:
        """Add one verb: ``summary`` for the list, the rest for its own help."""
        shown = "\n".join(["examples:", *(f"  {example}" for example in examples)]) if examples else ""
        return self._verbs.add_parser(
            name,
            help=summary,
            aliases=list(aliases),
            description=textwrap.fill(f"{summary[0].upper()}{summary[1:]}. {prints}", 96),
            epilog=f"{shown}\n\n{more}".strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            parents=[self._common],
        )


def settings_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the settings that the command line gives, by dotted key. Raises UsageError."""
    given = vars(arguments)
    flags: dict[str, object] = {}
    for pair in given.get("set") or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUE, not '{pair[:80]}'", hint="As in --set http.port=9000.")
        flags[key.strip().replace("-", "_")] = value
    for key, name in _SETTING_OPTIONS.items():
        if given.get(name) is not None:
            flags[key] = given[name]
    return flags


_SETTING_OPTIONS: Mapping[str, str] = {
    "vault": "vault",
    "state_dir": "state_dir",
    "embedder": "embedder",
    "adapter": "adapter",
    "log_level": "log_level",
    "drafts.allow": "allow_drafts",
    "http.allow_anonymous": "allow_anonymous",
    "http.agent_to_agent": "a2a",
    "watch": "watch",
    "authoring.workspace": "workspace",
    "authoring.wiki_root": "wiki_root",
    "authoring.raw_roots": "raw_root",
    "authoring.allow_fetch": "allow_fetch",
}
