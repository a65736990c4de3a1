"""Runs and their history."""
