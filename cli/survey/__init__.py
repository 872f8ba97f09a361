"""What is at risk in a cluster's Longhorn storage: the command `survey`."""
