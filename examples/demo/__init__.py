"""The demonstration: the real service, and a small cluster in memory that changes around it."""
