"""Revisions, the builder and the vector plan."""
