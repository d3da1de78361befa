"""Pure functions of retrieval: query analysis, fusion, coverage, bundle, budget. No I/O."""
