"""Tests of the running process, over real connections or the whole application."""
