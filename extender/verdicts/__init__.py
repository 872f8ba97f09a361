"""Whether a pod's volumes fit on a node, beside all that competes there."""
