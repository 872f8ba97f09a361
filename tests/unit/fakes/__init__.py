"""Tests of the stand-ins themselves; what they share with the real thing is in tests/contract."""
