"""Tests of what Longhorn does, by its source and by vectors of its own scheduler.

Only here it is shown that we count and choose as Longhorn does; everything else relies on it.
"""
