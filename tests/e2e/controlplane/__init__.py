"""Kubernetes' own programs for the end-to-end tests: where they are, or how they are built."""
