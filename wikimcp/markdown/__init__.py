"""Markdown read as values: frontmatter, sections, chunks, links, tags, spans. No file is touched here."""
