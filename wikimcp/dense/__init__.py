"""FAMILY: dense indexes over a matrix of unit vectors. ``selection`` chooses the member."""
