"""Tests of what the end-to-end tests use and what needs no control plane."""
