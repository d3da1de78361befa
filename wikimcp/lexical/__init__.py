"""Lexical indexes: BM25 over page and chunk fields, any string a query."""
