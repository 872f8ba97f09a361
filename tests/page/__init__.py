"""The picture in a real browser: what only a browser can show."""
