"""Tests of reading Kubernetes and Longhorn objects."""
