"""The service: an agent or a script asks over MCP or HTTP, and the same engine answers as in the notebooks.

Parses, calls `workbench`, and shapes answers; no rule of retrieval stands here. `workbench` never imports it.
"""
