"""Tests of the actors themselves."""
