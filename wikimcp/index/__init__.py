"""The index: catalog on disk, build and refresh, and the immutable Snapshot that tools read."""
