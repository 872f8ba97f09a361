"""Compares the answers of two checkouts on the same random events: `python -m tests.comparing`."""
