"""The protocol's own conformance scenarios against the real server; run by `make conformance`."""
