"""The only sqlite3 and file-replacing code."""
