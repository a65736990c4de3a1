"""Text to structure: front matter, sections, blocks, resources' units. Pure."""
