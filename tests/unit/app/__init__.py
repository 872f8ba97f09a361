"""Tests of the process and its edges."""
