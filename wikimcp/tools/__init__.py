"""The tools of the knowledge profile: one file per tool, and the contract that all of them keep."""
