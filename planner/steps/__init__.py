"""The steps of plans: what each does to the cluster, and what follows."""
