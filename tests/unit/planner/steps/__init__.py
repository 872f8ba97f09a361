"""The steps of plans, taken."""
