"""Tests of the verdict on each node: only here every reason and its text is reached."""
