"""Fuzzing of the reading of pages: mutated files through every dialect, and what must hold of each."""
