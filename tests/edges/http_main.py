"""Serves TinyService over HTTP: ``http_main.py HOST PORT [KEY]``."""

import sys

from tests.edges.tiny_service import TinyService
from wikimcp.edges.http import HttpOptions, serve_http

host, port, *key = sys.argv[1:]
sys.exit(
    serve_http(
        TinyService(),
        host=host,
        port=int(port),
        api_key=key[0] if key else None,
        options=HttpOptions(time_limit=20),
    )
)
