"""The end of every call: notes and index stamp added, the answer fitted to the size cap, rendered.

Both channels are measured as they leave: the compact JSON and the text must each be within the cap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from wikimcp.errors import TooLarge
from wikimcp.markdown.tokens import count_tokens
from wikimcp.tools.contract import DRAFTS_IGNORED, Answer, AnyTool, Markdown, Result, ToolContext, Wire
from wikimcp.tools.rendering import compact_json, flatten, render_frame

R = TypeVar("R", bound=Result)

_HALF = 0.5  # of a token: what rounding up adds to an item counted alone


def finish(tool: AnyTool, result: Result, context: ToolContext) -> Answer:
    """Return the answer as it is sent: stamped, within the cap, in both channels.

    Raises TooLarge when not even the parts that cannot be cut are within the cap.
    """
    if context.composed is not None and context.composed[0] is result:
        return context.composed[1]
    result = stamped(result, context)
    if isinstance(result, Markdown):
        return Answer(structured=None, text=result.text)
    if tool.own_budget:
        return compose(tool, result)
    return fit(tool, result, context.cap_tokens)


def stamped(result: R, context: ToolContext) -> R:
    """Return ``result`` with the notes of the call before its own, and with the index stamp."""
    notes = [*context.notes, *([DRAFTS_IGNORED] if context.drafts_ignored else []), *result.notes]
    shown = list(dict.fromkeys(map(flatten, notes)))
    return result.model_copy(update={"notes": shown, "index": context.index})


def fit(tool: AnyTool, result: Result, cap_tokens: int) -> Answer:
    """Cut whole items of ``result`` until both channels are within ``cap_tokens``; what is gone is named.

    The work is bounded by the cap, not by the number of items.
    """
    for name in result.cuttable:
        items = getattr(result, name)
        if not items:
            continue
        keep = _most_that_may_fit(result, name, cap_tokens)
        while keep > 0:
            shorter = result if keep == len(items) else result.cut(name, keep)
            answer = compose(tool, shorter)
            size = answer_tokens(answer)
            if size <= cap_tokens:
                return answer
            keep = min(keep - 1, keep * cap_tokens // size)
        result = result.cut(name, 0)
    answer = compose(tool, result)
    if answer_tokens(answer) > cap_tokens:
        raise TooLarge(
            f"the answer of {tool.name} needs more than the cap of {cap_tokens:,} tokens",
            hint="Ask for less, or raise the answer cap in the settings.",
        )
    return answer


def compose(tool: AnyTool, result: Result) -> Answer:
    """Return both channels of a result as it is, without cutting."""
    frame = render_frame(result)
    text = "\n".join(part for part in (tool.render(result), frame) if part)
    return Answer(structured=result.wire(), text=text)


def answer_tokens(answer: Answer) -> int:
    """Return the size of the larger channel in tokens."""
    structured = count_tokens(compact_json(answer.structured)) if answer.structured is not None else 0
    return max(structured, count_tokens(answer.text))


def _most_that_may_fit(result: Result, name: str, cap_tokens: int) -> int:
    """Return how many items fit the cap as JSON, counting one by one and stopping when it is full."""
    items = getattr(result, name)
    empty = result.model_copy(update={name: type(items)()})
    left = float(cap_tokens - count_tokens(compact_json(empty.wire())))
    for count, item in enumerate(_as_sequence(items)):
        left -= count_tokens(f"{compact_json(_plain(item))},") - _HALF
        if left < 0:
            return count
    return len(items)


def _as_sequence(items: Any) -> Iterable[Any]:  # noqa: ANN401 - a list or mapping of any values
    return items.items() if isinstance(items, dict) else items


def _plain(item: object) -> object:
    if isinstance(item, Wire):
        return item.wire()
    if isinstance(item, Sequence) and not isinstance(item, str):
        return [_plain(part) for part in item]
    return item
