"""What would happen if: pods placed on a cluster in memory, under a scheduling policy."""
