"""Tests of one instance: what it knows, whom it wakes, and what it does when it takes over.

Only here its loops run beside a played API server alone, so that each step is seen.
"""
