"""A real Prometheus: the rules fire in their time, and every panel has data of real instances."""
