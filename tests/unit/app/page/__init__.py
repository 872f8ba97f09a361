"""Tests of the page's text; what a browser makes of it is in `tests/page/`."""
