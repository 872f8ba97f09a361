"""That the parts of a process work together: whole instances on one loop and virtual time, killed,
stopped and cut off, and real processes on loopback with bad clients, signals and certificates.

A rule is proved where it is written, below tests/unit; here is one case for each of its wirings.
"""
