"""``python -m wikimcp``: the same as the command ``wikimcp``."""

from wikimcp.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
