"""Tests of scores: only here it is tried in which orders volumes may come after a choice."""
