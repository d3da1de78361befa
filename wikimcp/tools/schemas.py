"""JSON Schemas of tools: plain types, no titles, references inlined, deterministic and short."""

from __future__ import annotations

import types
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from wikimcp.tools.contract import AnyTool, Params, Wire
from wikimcp.tools.parameters import Parameter, parameters_of

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LAST = ("notes", "index")


def input_schema(tool: AnyTool) -> dict[str, Any]:
    """Return the schema of a tool's arguments, in the order of its Params."""
    return input_schema_of(tool.params)


def input_schema_of(model: type[Params]) -> dict[str, Any]:
    """Return the schema of arguments, in the order of their Params."""
    return deepcopy(_input_schema(model))


def output_schema(tool: AnyTool) -> dict[str, Any] | None:
    """Return the schema of a tool's structured content, or None for a markdown tool."""
    model: type[Wire] | None = tool.result
    return None if model is None else deepcopy(_object_schema(model))


@cache
def _input_schema(model: type[Params]) -> dict[str, Any]:
    parameters = parameters_of(model)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _parameter_schema(parameter) for name, parameter in parameters.items()},
    }
    required = [name for name, parameter in parameters.items() if parameter.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def _parameter_schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any]
    match parameter.kind:
        case "choice":
            schema = {"type": "string", "enum": list(parameter.choices)}
        case "texts":
            schema = {"type": "array", "items": {"type": "string"}}
            if parameter.longest:
                schema |= {"maxItems": parameter.longest}
        case "text":
            schema = {"type": "string"}
        case kind:
            schema = {"type": str(kind)}
    if parameter.lower is not None:
        schema["minimum"] = parameter.lower
    if parameter.upper is not None:
        schema["maximum"] = parameter.upper
    if parameter.default:  # an empty default (none, false, "", []) is what leaving it out means anyway
        schema["default"] = parameter.default
    if parameter.description:
        schema["description"] = parameter.description
    return schema


@cache
def _object_schema(model: type[Wire]) -> dict[str, Any]:
    if not model.schema_in_full:
        return {"type": "object"}
    fields = {name: info for name, info in model.model_fields.items() if not info.exclude}
    order = [name for name in fields if name not in _LAST] + [name for name in _LAST if name in fields]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {fields[name].alias or name: _type_schema(fields[name].annotation) for name in order},
    }
    required = [fields[name].alias or name for name in order if fields[name].is_required()]
    if required:
        schema["required"] = required
    return schema


def _type_schema(annotation: Any) -> dict[str, Any]:  # noqa: ANN401 - a type expression
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _type_schema(next(part for part in args if part is not type(None)))
    if annotation in _PLAIN:
        return {"type": _PLAIN[annotation]}
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if origin in (list, tuple):
        return {"type": "array", "items": _type_schema(args[0])}
    if origin in (dict, Mapping):
        return {"type": "object"}
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        return _object_schema(annotation)
    if annotation is Any:
        return {}
    raise TypeError(f"a result field has a type that no schema of ours can show: {annotation!r}")
