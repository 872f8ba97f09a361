"""Tests of what Longhorn will place: only here it is compared with trying everything."""
