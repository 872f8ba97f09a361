"""Embedded clusters, and the demonstration that runs on them."""
