"""`may-drain`: whether a node may be drained now, and what is in the way."""
