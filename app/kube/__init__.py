"""Reading Kubernetes and Longhorn objects."""
