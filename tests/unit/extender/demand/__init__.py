"""Tests of what a pod asks for: only here claims and classes are odd in every way."""
