"""Citations as values: their uris, the spans they name, and the verdict on one of them. Knows no index."""
