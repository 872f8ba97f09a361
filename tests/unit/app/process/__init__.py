"""Tests of what every process has."""
