"""Values without I/O: what every other folder speaks in."""
