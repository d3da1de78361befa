"""Serves TinyService over stdio as the command line does, with noise from an import on the way."""

import sys

from wikimcp.edges.stdio import claim_stdout, serve_stdio

claim_stdout()
print("noise: import")  # noqa: T201 - the point of it

from tests.edges.tiny_service import TinyService  # noqa: E402 - after the claim, like everything that may print

sys.exit(serve_stdio(TinyService()))
