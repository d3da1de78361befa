"""API keys: what they allow, and the one file that holds them."""
