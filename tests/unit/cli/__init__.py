"""Tests of the commands: what they read, decide and print, in the process of the test."""
