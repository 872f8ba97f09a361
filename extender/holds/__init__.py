"""What we keep for pods until Longhorn's objects show it."""
