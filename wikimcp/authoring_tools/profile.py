"""The authoring profile as a service offers it: tools and prompts for callers with the scope ``author``.

Reports become answers here: camelCase keys, both channels complete, lists cut to the size cap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from pydantic.alias_generators import to_camel

from wikimcp.authoring_tools.contract import AnyAuthoringTool, AuthoringContext
from wikimcp.authoring_tools.prompts import PROMPTS, prompt_text
from wikimcp.authoring_tools.registry import built
from wikimcp.errors import Conflict, NotFound, TooLarge
from wikimcp.guide.specs import PromptSpec, ToolAnswer, ToolSpec
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Caller
from wikimcp.tools.arguments import bind_arguments
from wikimcp.tools.rendering import compact_json, flatten, json_safe, render_facts
from wikimcp.tools.schemas import input_schema_of

SCOPE = "author"
Render = Callable[[Mapping[str, Any]], str]
_IDENTIFIER = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")


class AuthoringProfile:
    """Tools and prompts over one workspace; implements the service's ``ToolExtension``."""

    def __init__(
        self,
        context: AuthoringContext,
        *,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._context = context
        self._on_close = on_close

    def tools(self, caller: Caller | None) -> list[ToolSpec]:
        """Return the tools for an author; nobody else has any."""
        return [_spec(tool) for tool in built()] if _is_author(caller) else []

    def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        """Run one tool. Raises WikimcpError, NotFound for who is no author."""
        tool = next((tool for tool in built() if tool.name == name), None)
        if tool is None or not _is_author(caller):
            raise NotFound(f"no tool named {name[:60]!r}", hint="See the list of tools.")
        params, notes = bind_arguments(tool, arguments)
        render = tool.render
        try:
            report = tool.run(params, self._context)
        except Conflict as conflict:
            report, render = conflict_report(conflict), render_facts
        shown = wire_form(report)
        if notes:
            shown["notes"] = [*notes, *shown.get("notes", [])]
        return _fitted(name, render, shown, self._context.cap_tokens)

    def prompts(self, caller: Caller | None) -> list[PromptSpec]:
        """Return the prompts for an author; nobody else has any."""
        return list(PROMPTS) if _is_author(caller) else []

    def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises BadArgument."""
        return prompt_text(name, arguments)

    def close(self) -> None:
        """Release the index of the compiled wiki."""
        if self._on_close is not None:
            self._on_close()


def conflict_report(conflict: Conflict) -> dict[str, Any]:
    """Return a conflict as an answer: what is there now, so that the caller can merge and write again."""
    return {
        "status": "conflict",
        "message": f"{conflict.message}. {conflict.hint}",
        "content_hash": conflict.content_hash,
        "current": conflict.current,
    }


def wire_form(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report as it goes on the wire: camelCase keys, nothing that JSON cannot hold, no nulls."""
    named: dict[str, Any] = _camel(json_safe(report))
    return named


def _camel(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Rename keys that are identifiers of ours; those that are names of the wiki stay."""
    if isinstance(value, dict):
        return {to_camel(k) if _IDENTIFIER.fullmatch(k) else k: _camel(item) for k, item in value.items()}
    return [_camel(item) for item in value] if isinstance(value, list) else value


def _is_author(caller: Caller | None) -> bool:
    return caller is not None and SCOPE in caller.scopes


@cache
def _spec(tool: AnyAuthoringTool) -> ToolSpec:
    return ToolSpec(tool.name, tool.title, tool.description, input_schema_of(tool.params), None, tool.hints)


def _fitted(name: str, render: Render, shown: dict[str, Any], cap_tokens: int) -> ToolAnswer:
    """Cut the longest lists until both channels are within the cap; what is gone is noted."""
    whole = {key: len(value) for key, value in shown.items() if isinstance(value, list)}
    while True:
        answer = ToolAnswer(_text(render, shown), shown)
        size = max(count_tokens(compact_json(shown)), count_tokens(answer.text))
        longest = max(
            (key for key in whole if key != "notes" and len(shown[key]) > 0),
            key=lambda key: len(compact_json(shown[key])),
            default=None,
        )
        if size <= cap_tokens:
            return answer
        if longest is None and "current" in shown:
            note = "the page is too long to show here: read it with wiki_read_page, then write again"
            shown = {**{key: value for key, value in shown.items() if key != "current"}, "notes": [note]}
            continue
        if longest is None:
            raise TooLarge(
                f"the answer of {name} needs more than the cap of {cap_tokens:,} tokens",
                hint="Ask for less, or raise the answer cap in the settings.",
            )
        kept = min(len(shown[longest]) * cap_tokens // size, len(shown[longest]) - 1)
        others = [note for note in shown.get("notes", []) if not note.startswith(f"{longest}: ")]
        note = f"{longest}: {whole[longest] - kept} of {whole[longest]} left out to keep the answer short"
        shown = {**shown, longest: shown[longest][:kept], "notes": [*others, note]}


def _text(render: Render, shown: Mapping[str, Any]) -> str:
    facts = {key: value for key, value in shown.items() if key != "notes"}
    lines = [render(facts), *(f"note: {flatten(note)}" for note in shown.get("notes", []))]
    return "\n".join(lines)
