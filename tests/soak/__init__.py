"""Hours of a whole system: what only shows after a while, and what chance alone comes upon."""
