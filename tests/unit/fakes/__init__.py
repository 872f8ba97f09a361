"""Faults of the stand-ins that would go unnoticed; the rest is in tests/contract."""
