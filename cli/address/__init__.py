"""`propose-address`: a free address for the Service, which kube-scheduler's configuration names."""
