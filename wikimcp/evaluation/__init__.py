"""Retrieval measured against known answers: questions in, one row for each, and their averages.

It asks through a callable (the service's `call`) and reads the vault's files only to check what was
cited. It tunes nothing and prints nothing.
"""
