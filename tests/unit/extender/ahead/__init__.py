"""Tests of what can be lost: only here all pairs of nodes are tried."""
