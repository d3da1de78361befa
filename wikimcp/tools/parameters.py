"""The parameters of a tool as plain facts, read once from its Params model.

Binding arguments and writing schemas both start here, so they cannot disagree.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic.fields import FieldInfo

from wikimcp.tools.contract import Params

Kind = Literal["text", "integer", "number", "boolean", "choice", "texts", "object"]

LONGEST_TEXT = 4_096
"""Characters kept of a text argument whose field sets no ``max_length`` of its own."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: ``lower``/``upper`` bound a number, ``shortest``/``longest`` a text or list.

    ``example`` is a value that would be right. ``longest`` 0 is no limit of the contract.
    """

    name: str
    kind: Kind
    description: str
    required: bool
    default: Any
    example: Any
    choices: tuple[str, ...] = ()
    lower: int | float | None = None
    upper: int | float | None = None
    shortest: int = 0
    longest: int = 0


@cache
def parameters_of(model: type[Params]) -> Mapping[str, Parameter]:
    """Return the parameters of a Params model by name, in the order of its fields."""
    return {name: _parameter(name, info) for name, info in model.model_fields.items()}


def _parameter(name: str, info: FieldInfo) -> Parameter:
    kind, choices = _kind(name, info.annotation)
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    bounds = {type(bound): bound for bound in info.metadata}
    lower, upper = bounds.get(Ge), bounds.get(Le)
    shortest, longest = bounds.get(MinLen), bounds.get(MaxLen)
    parameter = Parameter(
        name=name,
        kind=kind,
        description=info.description or "",
        required=info.is_required(),
        default=default,
        example=None,
        choices=choices,
        lower=lower.ge if lower else None,
        upper=upper.le if upper else None,
        shortest=shortest.min_length if shortest else 0,
        longest=longest.max_length if longest else 0,
    )
    return replace(parameter, example=info.examples[0] if info.examples else _example(parameter))


def _kind(name: str, annotation: Any) -> tuple[Kind, tuple[str, ...]]:  # noqa: ANN401 - a type expression
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        if len(parts) == 1:
            annotation = parts[0]
    simple: dict[Any, Kind] = {str: "text", int: "integer", float: "number", bool: "boolean"}
    if annotation in simple:
        return simple[annotation], ()
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "choice", tuple(str(choice) for choice in args)
    if origin in (tuple, list) and args and args[0] is str:
        return "texts", ()
    if origin in (dict, Mapping):
        return "object", ()
    raise TypeError(f"parameter {name} has a type that no schema of ours can show: {annotation!r}")


def _example(parameter: Parameter) -> Any:  # noqa: ANN401 - a value of the parameter's type
    if parameter.default not in (None, "", (), {}):
        return parameter.default
    match parameter.kind:
        case "choice":
            return parameter.choices[0]
        case "integer" | "number":
            return parameter.lower if parameter.lower is not None else 1
        case "boolean":
            return True
        case "texts":
            return ["..."]
        case "object":
            return {"key": "value"}
        case _:
            return "..."
