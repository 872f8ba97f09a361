"""`plan`: what would happen if, on a live cluster or on files."""
