"""Reading Kubernetes and Longhorn objects, as far as the service needs them."""
