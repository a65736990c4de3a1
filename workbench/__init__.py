"""Memory Workbench: retrieval over Markdown memories, and how well it works."""

__version__ = "0.1.0"
