"""``python -m wikimcp``: the same as the command ``wikimcp``."""

from wikimcp.cli import command

if __name__ == "__main__":
    raise SystemExit(command())
