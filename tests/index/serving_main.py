"""A process that serves one vault: reads one JSON request a line, answers one JSON line each.

Arguments: the settings as JSON. ``{"ask": tool, "with": arguments}`` calls a tool, ``{"tell": name}``
asks for a fact about the process; errors come back as ``{"error": text}``.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from wikimcp.app import build_service
from wikimcp.errors import WikimcpError
from wikimcp.models import Caller
from wikimcp.service import WikiService
from wikimcp.settings import load_settings


def told(service: WikiService, name: str) -> Any:
    """Return a fact about this process."""
    keeper = service.keeper
    if name == "leads":
        return keeper._leader.held
    if name == "folder":
        return str(keeper.store.state.current(keeper.store.key))
    if name == "versions":
        snapshot = keeper.store.snapshot
        return {page.path: page.version for page in snapshot.records.values()} if snapshot else {}
    return service.status(Caller(operator=True))


def main() -> None:
    """Serve until stdin closes."""
    caller = Caller()
    service = build_service(load_settings(json.loads(sys.argv[1]), env={}))
    print(json.dumps({"serves": True}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "ask" in request:
                answer = service.call(request["ask"], request.get("with", {}), caller).structured
            else:
                answer = told(service, request["tell"])
            print(json.dumps({"answer": answer}), flush=True)
        except WikimcpError as error:
            print(json.dumps({"error": str(error)}), flush=True)
    service.close()


if __name__ == "__main__":
    main()
