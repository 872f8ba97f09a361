"""How good the nodes are that fit, best first: `/prioritize`."""
