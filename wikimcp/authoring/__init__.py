"""The authoring profile: verbs that keep a compiled wiki true to its sources. No model is called."""
