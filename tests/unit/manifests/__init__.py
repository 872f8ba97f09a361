"""Tests of what Helm and kustomize make: valid, hardened, and the same by either way."""
