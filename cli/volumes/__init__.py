"""`filter` of a claim or a volume: its replicas, what it lacks, and why."""
