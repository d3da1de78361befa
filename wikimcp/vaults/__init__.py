"""Vault adapters: one dialect a module, over what they share (walking, safe reading, page fields)."""
