"""Evaluation sets of other makers, and this project's own questions, as one shape."""
