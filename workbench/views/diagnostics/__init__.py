"""Diagnostics: a person looks into runs, indexes and cases, measures, exports and clears, in a notebook."""

from workbench.views.diagnostics.widget import DiagnosticsWidget, diagnose

__all__ = ["DiagnosticsWidget", "diagnose"]
