"""Tests of Longhorn in memory."""
