"""`filter` of a node: whether it takes new replicas, what is on its disks, and what would help."""
