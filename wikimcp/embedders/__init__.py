"""FAMILY: embedders, which turn texts into unit vectors. ``resolve`` chooses the members."""
