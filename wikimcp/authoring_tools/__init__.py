"""The verbs of the authoring profile as tools and prompts: off by default, for authors only."""
