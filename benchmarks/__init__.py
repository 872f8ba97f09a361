"""Measurements; nothing here is a test. README.md has the results."""
