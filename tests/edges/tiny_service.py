"""A small WikiService in memory whose tools do what an edge must survive: wait, fail, print, change."""
# ruff: noqa: D102 - the methods are described where they are declared

import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from wikimcp.errors import BadArgument, NotFound, nearest
from wikimcp.models import Caller
from wikimcp.service import PromptArgument, PromptSpec, ResourceSpec, ToolAnswer, ToolSpec, WikiService

SECRET = "/srv/private/vault.md"
PAGES = ("alpha", "beta", "gamma", "delta", "epsilon")


def _spec(name: str, *properties: str, output: dict[str, Any] | None = None) -> ToolSpec:
    schema = {
        "type": "object",
        "title": f"{name}Arguments",
        "properties": {
            key: {"type": "string", "title": key.title(), "description": f"The {key}."} for key in properties
        },
        "additionalProperties": False,
    }
    return ToolSpec(name, name.title(), f"Returns {name}. For tests.", schema, output)


ECHO_OUTPUT = {
    "type": "object",
    "title": "Echo",
    "properties": {
        "title": {"type": "string", "title": "Title", "default": "x"},
        "caller": {"type": "string"},
        "length": {"type": "integer"},
    },
    "required": ["title", "length"],
}


class TinyService(WikiService):
    """Two real tools (echo, say) and the troublemakers."""

    name = "wikimcp"
    version = "9.8.7"
    instructions = "Call echo first."

    def __init__(self) -> None:
        self.closed = False
        self.ready_now = True
        self._listeners: list[Callable[[], None]] = []
        self._extra = 0
        self._waiting = 0
        self._released = False
        self._gate = threading.Condition()

    def close(self) -> None:
        if not self.closed:
            sys.stderr.write("service closed\n")
            sys.stderr.flush()
        self.closed = True

    def ready(self) -> bool:
        return self.ready_now

    def status(self, caller: Caller, *, details: bool = True) -> dict[str, Any]:
        return {"caller": caller.name}

    def subscribe(self, on_tools_changed: Callable[[], None]) -> None:
        self._listeners.append(on_tools_changed)

    def tools(self, caller: Caller | None = None) -> list[ToolSpec]:
        listed = [
            _spec("echo", "title", output=ECHO_OUTPUT),
            _spec("say", "text"),
            _spec("fail", "how"),
            _spec("wait"),
            _spec("arrived", "count"),
            _spec("release"),
            _spec("noise"),
            _spec("grow"),
        ]
        return listed + [_spec(f"extra_{number}") for number in range(self._extra)]

    def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        names = [spec.name for spec in self.tools()]
        if name not in names:
            near = ", ".join(nearest(name, names)) or ", ".join(names)
            raise NotFound(f"there is no tool {name!r}", hint=f"Nearest: {near}.")
        method: Callable[[Mapping[str, Any], Caller], ToolAnswer] = getattr(self, f"_{name}", self._say)
        return method(arguments, caller)

    def _echo(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        unknown = set(arguments) - {"title"}
        if unknown:
            raise BadArgument(f"unknown argument {unknown.pop()!r}", hint="Did you mean 'title'?")
        title = arguments.get("title", "")
        return ToolAnswer(title, {"title": title, "length": len(title), "caller": caller.name})

    def _say(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        return ToolAnswer(str(arguments.get("text", "")), None)

    def _fail(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        how = arguments["how"]
        if how == "surrogate":
            return ToolAnswer("broken \udcff name", {"name": "broken \udcff name", "score": float("nan")})
        if how == "no json":
            return ToolAnswer("text", {"when": object()})
        if how == "no text":
            return ToolAnswer({"secret": SECRET}, None)  # type: ignore[arg-type]
        if how == "long":
            raise BadArgument("x" * 5000)
        failures: dict[str, BaseException] = {
            "runtime": RuntimeError(f"cannot open {SECRET}\nline two"),
            "timeout": TimeoutError(SECRET),
            "stop": StopIteration(SECRET),
            "exit": SystemExit(3),
            "interrupt": KeyboardInterrupt(),
            "key": KeyError(SECRET),
        }
        raise failures[how]

    def _wait(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        with self._gate:
            self._waiting += 1
            self._gate.notify_all()
            self._gate.wait_for(lambda: self._released)
        return ToolAnswer("released", None)

    def _arrived(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        count = int(arguments["count"])
        with self._gate:
            if not self._gate.wait_for(lambda: self._waiting >= count, timeout=20):
                raise AssertionError(f"{self._waiting} of {count} calls arrived")
        return ToolAnswer(str(count), None)

    def _release(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        with self._gate:
            self._released = True
            self._gate.notify_all()
        return ToolAnswer("ok", None)

    def _noise(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        print("noise: print Đường")  # noqa: T201 - the point of it
        sys.__stdout__.write("noise: original stdout\n")  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]
        os.write(1, b"noise: fd 1\n")
        subprocess.run([sys.executable, "-c", "print('noise: child')"], check=True)
        read = subprocess.run([sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"], check=True)
        warnings.warn("noise: warning", stacklevel=1)
        logging.getLogger("other").error("noise: log\nin two lines")
        threading.Thread(target=lambda: 1 // 0, name="noise").start()
        return ToolAnswer(f"child exit {read.returncode}", None)

    def _grow(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        self._extra += 1
        for listener in self._listeners:
            listener()
        return ToolAnswer(str(self._extra), None)

    def resources(self, caller: Caller, cursor: str | None) -> tuple[list[ResourceSpec], str | None]:
        if cursor is not None and cursor not in {"2", "4"}:
            raise BadArgument("this cursor is not known", hint="Start again without one.")
        first = int(cursor or 0)
        specs = [
            ResourceSpec(f"wiki://page/{page}", page, page.title(), "A page", "text/markdown", 1200)
            for page in PAGES[first : first + 2]
        ]
        return specs, str(first + 2) if first + 2 < len(PAGES) else None

    def resource_templates(self) -> list[tuple[str, str, str]]:
        return [("wiki://page/{slug}", "page", "One page.")]

    def read_resource(self, uri: str, caller: Caller) -> str:
        page = uri.removeprefix("wiki://page/")
        if page == "crash":
            raise RuntimeError(SECRET)
        if page not in PAGES:
            raise NotFound("no such page", hint="Nearest: alpha.")
        return f"# {page}\n"

    def prompts(self, caller: Caller | None = None) -> list[PromptSpec]:
        arguments = (PromptArgument("topic", "What about.", True), PromptArgument("depth", "How far.", False))
        return [PromptSpec("ground", "Ground", "Grounds a task.", arguments)]

    def prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> str:
        if name != "ground":
            raise NotFound(f"no prompt {name!r}", hint="Nearest: ground.")
        if "topic" not in arguments:
            raise BadArgument("the argument 'topic' is missing")
        return f"Find out about {arguments['topic']}."

    def complete(self, kind: str, argument: str, value: str, caller: Caller) -> list[str]:
        if kind == "ground":
            return [f"topic-{number}" for number in range(150)]
        return [page for page in PAGES if page.startswith(value)]
