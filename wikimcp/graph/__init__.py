"""Graphs over pages: what links where, and the knowledge graph."""
