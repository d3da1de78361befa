"""From raw arguments to Params: unknown names refused, sloppy forms taken as meant, numbers clamped.

No validation text of the model library reaches a caller: every error here says what was wrong,
what is allowed, and one right example.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from wikimcp.errors import BadArgument
from wikimcp.tools.contract import Params
from wikimcp.tools.parameters import LONGEST_TEXT, Parameter, parameters_of
from wikimcp.tools.rendering import clip, flatten

P = TypeVar("P", bound=Params, covariant=True)

_MOST_ITEMS = 1_000  # of a list whose field sets no limit of its own
_MOST_KEYS = 100
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates: in no file name, in no UTF-8
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE)
_TRUE = frozenset({"true", "yes", "on", "y", "t", "1"})
_FALSE = frozenset({"false", "no", "off", "n", "f", "0"})


class Callee(Protocol[P]):
    """What arguments are bound to: any tool, by its name and its Params."""

    @property
    def name(self) -> str:
        """The tool's name."""

    @property
    def params(self) -> type[P]:
        """The model of its arguments."""


def bind_arguments(tool: Callee[P], raw: object) -> tuple[P, list[str]]:
    """Return the params that ``raw`` means, and notes on what was changed to make them fit.

    ``raw`` is a mapping, or None for no arguments. Raises BadArgument.
    """
    given = _mapping(tool.name, raw)
    known = parameters_of(tool.params)
    _refuse_unknown(tool.name, given, known)
    notes: list[str] = []
    values: dict[str, Any] = {}
    for parameter in known.values():
        value = given.get(parameter.name)
        if value is None or (isinstance(value, str) and _means_default(parameter, value)):
            continue
        values[parameter.name] = _READERS[parameter.kind](parameter, value, notes)
    missing = [p for p in known.values() if p.required and p.name not in values]
    if missing:
        names = ", ".join(p.name for p in missing)
        example = ", ".join(_call_example(p) for p in missing)
        raise BadArgument(f"{tool.name} needs {names}", hint=f"Example: {example}")
    try:
        return tool.params.model_validate(values), notes
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "the arguments"
        raise BadArgument(f"{where} of {tool.name} cannot be used as given") from None


def _mapping(tool: str, raw: object) -> dict[str, Any]:
    if isinstance(raw, str):
        raw = _json(raw)
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise BadArgument(f"arguments of {tool} must be an object with named values")
    return {str(name): value for name, value in raw.items()}


def _refuse_unknown(tool: str, given: Iterable[str], known: Mapping[str, Parameter]) -> None:
    unknown = [name for name in given if name not in known]
    if not unknown:
        return
    found = "; ".join(f"{_shown(name)} (nearest: {_nearest(name, list(known))})" for name in unknown[:3])
    more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
    raise BadArgument(f"{tool} has no argument {found}{more}", hint=f"Its arguments: {', '.join(known)}.")


def _nearest(name: str, known: list[str]) -> str:
    squeezed = {_squeeze(right): right for right in known}
    wanted = _squeeze(name[:80])
    if wanted in squeezed:
        return squeezed[wanted]
    close = get_close_matches(wanted, list(squeezed), n=1, cutoff=0.0)
    return squeezed[close[0]] if close else "none"


def _means_default(parameter: Parameter, value: str) -> bool:
    """Tell an optional field that the client left empty: some send "" or "null" for it."""
    word = value.strip().casefold()
    return parameter.kind not in ("text", "texts", "object") and word in ("", "null", "none")


def _read_text(parameter: Parameter, value: object, notes: list[str]) -> str:
    text = _as_text(value)
    if text is None:
        raise _wrong(parameter, "text", value)
    if len(text.strip()) < parameter.shortest:
        raise BadArgument(f"{parameter.name} is empty", hint=f"Example: {_call_example(parameter)}")
    return _cut_text(parameter.name, text, parameter.longest or LONGEST_TEXT, notes)


def _read_texts(parameter: Parameter, value: object, notes: list[str]) -> tuple[str, ...]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        parsed = _json(value)
        value = parsed if isinstance(parsed, list) else value
    items = value if isinstance(value, (list, tuple)) else [value]
    texts: dict[str, None] = {}
    for item in items:
        text = _as_text(item)
        if text is None:
            raise _wrong(parameter, "a list of texts", item)
        if text.strip():
            texts.setdefault(_cut_text(parameter.name, text, LONGEST_TEXT, notes))
    found = tuple(texts)
    if len(found) < parameter.shortest:
        raise BadArgument(
            f"{parameter.name} needs at least {parameter.shortest}",
            hint=f"Example: {_call_example(parameter)}",
        )
    if parameter.longest and len(found) > parameter.longest:
        raise BadArgument(
            f"{parameter.name} takes at most {parameter.longest}, got {len(found)}",
            hint=f"Call again with the rest, {parameter.longest} at a time.",
        )
    if len(found) > _MOST_ITEMS:
        notes.append(f"{parameter.name}: the first {_MOST_ITEMS:,} of {len(found):,} were used")
    return found[:_MOST_ITEMS]


def _read_number(parameter: Parameter, value: object, notes: list[str]) -> int | float:
    number = _as_number(value)
    if number is None or (isinstance(number, float) and math.isnan(number)):
        raise _wrong(parameter, _range_of(parameter), value)
    lower, upper = parameter.lower, parameter.upper
    if lower is not None and number < lower:
        notes.append(f"{parameter.name} {_shown(value)} is below its minimum: {lower} was used")
        return lower
    if upper is not None and number > upper:
        notes.append(f"{parameter.name} {_shown(value)} is above its maximum: {upper} was used")
        return upper
    if parameter.kind == "number":
        return float(number)
    if math.isinf(number):
        raise _wrong(parameter, _range_of(parameter), value)
    whole = int(number)
    if whole != number:
        notes.append(f"{parameter.name} takes whole numbers: {whole} was used for {_shown(value)}")
    return whole


def _read_boolean(parameter: Parameter, value: object, notes: list[str]) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise _wrong(parameter, "true or false", value)


def _read_choice(parameter: Parameter, value: object, notes: list[str]) -> str:
    squeezed = {_squeeze(choice): choice for choice in parameter.choices}
    allowed = f"one of {', '.join(parameter.choices)}"
    if not isinstance(value, str):
        raise _wrong(parameter, allowed, value)
    chosen = squeezed.get(_squeeze(value[:80]))
    if chosen is None:
        near = _nearest(value, list(parameter.choices))
        raise BadArgument(
            f"{parameter.name} must be {allowed}, got {_shown(value)}",
            hint=f"Nearest: {parameter.name}={json.dumps(near)}",
        )
    return chosen


def _read_object(parameter: Parameter, value: object, notes: list[str]) -> dict[str, Any]:
    if isinstance(value, str):
        value = _json(value)
    if not isinstance(value, Mapping):
        raise _wrong(parameter, "an object of keys and plain values", value)
    if len(value) > _MOST_KEYS:
        raise BadArgument(f"{parameter.name} takes at most {_MOST_KEYS} keys, got {len(value)}")
    read: dict[str, Any] = {}
    for key, item in value.items():
        text = item if isinstance(item, (bool, int, float)) else _as_text(item)
        if text is None:
            raise _wrong(parameter, "an object of keys and plain values", item)
        kept = _cut_text(parameter.name, text, LONGEST_TEXT, notes) if isinstance(text, str) else text
        read[_cut_text(parameter.name, str(key), LONGEST_TEXT, notes)] = kept
    return read


_READERS: dict[str, Callable[[Parameter, Any, list[str]], Any]] = {
    "text": _read_text,
    "texts": _read_texts,
    "integer": _read_number,
    "number": _read_number,
    "boolean": _read_boolean,
    "choice": _read_choice,
    "object": _read_object,
}


def _as_text(value: object) -> str | None:
    """Numbers are texts too (a page may be called 2031); lists, objects and flags are not."""
    if isinstance(value, str):
        return _UNSENDABLE.sub("\ufffd", value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return None


def _cut_text(name: str, text: str, longest: int, notes: list[str]) -> str:
    if len(text) <= longest:
        return text
    notes.append(f"{name} was cut at {longest:,} characters (it had {len(text):,})")
    return text[:longest]


def _as_number(value: object) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    if not isinstance(value, str):
        return None
    text = value.strip()
    if not _NUMBER.fullmatch(text):
        return None
    return int(text) if text.lstrip("+-").isdecimal() and len(text) < 16 else float(text)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _squeeze(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold()) or name


def _range_of(parameter: Parameter) -> str:
    noun = "a whole number" if parameter.kind == "integer" else "a number"
    if parameter.lower is not None and parameter.upper is not None:
        return f"{noun} from {parameter.lower:,} to {parameter.upper:,}"
    return noun


def _wrong(parameter: Parameter, wanted: str, value: object) -> BadArgument:
    return BadArgument(
        f"{parameter.name} must be {wanted}, got {_shown(value)}", hint=f"Example: {_call_example(parameter)}"
    )


def _call_example(parameter: Parameter) -> str:
    return f"{parameter.name}={json.dumps(parameter.example, ensure_ascii=False)}"


def _shown(value: object) -> str:
    """Name a caller's value in at most a few words, whatever it is."""
    if isinstance(value, str):
        return json.dumps(clip(flatten(value), 60), ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 64:
        return "a huge number"
    if isinstance(value, (int, float)):
        return str(value)
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "an object" if isinstance(value, Mapping) else "another type"
