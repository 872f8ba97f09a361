"""What somebody can do, each tried on the cluster before it is offered."""
