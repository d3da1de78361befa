"""wikimcp serves a folder of markdown to agents over MCP: context with citations, never answers."""

__version__ = "0.1.0"
