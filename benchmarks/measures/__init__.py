"""One module for each thing that is measured; each has a ``measure(bench, recorder)``."""
