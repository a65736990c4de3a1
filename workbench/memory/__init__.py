"""Sources, the state manifest and snapshots."""
