"""What a pod needs on its node: the volumes of its claims, and which replicas exist already."""
