"""The authoring profile: the compiled wiki that agents keep, and the verbs that keep its books."""
