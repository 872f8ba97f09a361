"""Tests of what only commands read."""
