"""The activation pipeline."""
