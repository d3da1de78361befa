"""A briefing as JSON within its budget: what is counted is what the caller receives, names and quotes too.

The same page takes more room in JSON than in markdown, and how much more is seen only when it is written. So
the briefing is made with less and less to fill until it fits, a few times at most.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from wikimcp.markdown.tokens import count_tokens
from wikimcp.tools.briefing_result import BriefingFacts

_MOST_TRIES = 7
_FULL_ENOUGH = 0.93  # of the budget: to look for more is not worth a try
_FIRST_TRY = 0.8  # of the budget, where all of it was too much


def data_within(budget: int, made: Callable[[int], BriefingFacts]) -> dict[str, Any]:
    """Return the JSON form of a briefing whose size is at most ``budget`` tokens.

    ``made`` makes one that fills so many tokens as markdown.
    """
    best, fill = None, budget
    least, most = 0, budget  # what fits, as far as is known, and what does not
    for _ in range(_MOST_TRIES):
        data = _counted(made(fill).wire())
        used = data["usedTokens"]
        if used <= budget:
            best, least = data, fill
            if fill == budget or used >= _FULL_ENOUGH * budget:
                break
        else:
            most = fill
        if most - least < 2:
            break
        guess = int(fill * budget / used) if best else int(fill * min(_FIRST_TRY, budget / used))
        fill = guess if least < guess < most else (least + most) // 2
    return best or next(data for data in _shortened(made(0)) if data["usedTokens"] <= budget)


def _shortened(facts: BriefingFacts) -> Iterator[dict[str, Any]]:
    """Yield ever less of a briefing that is too long without any text: the facts about pages come last."""
    data = facts.wire()
    yield _counted(data)
    data.pop("prompt", None)
    yield _counted(data)
    for key in ("missingTerms", "liftedBy"):
        data["coverage"].pop(key, None)
    yield _counted(data)
    left_out = len(data["warnings"]) + len(data["notes"])
    data |= {"warnings": [], "notes": [f"{left_out} warnings and notes were left out"] if left_out else []}
    yield _counted(data)
    data |= {"items": [], "sections": []}
    yield _counted(data)


def _counted(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data with its own size in it."""
    counted = {**data, "usedTokens": data["budgetTokens"]}
    text = json.dumps(counted, ensure_ascii=False, separators=(",", ":"))
    return {**counted, "usedTokens": count_tokens(text)}
