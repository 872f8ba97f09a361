"""Tests of what every process has, whatever it is for."""
