"""What a pod needs on its node: from its claims to volumes, and what is there already."""
