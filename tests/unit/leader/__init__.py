"""Tests of the election and of publishing who won it."""
