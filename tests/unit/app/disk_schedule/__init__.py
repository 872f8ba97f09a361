"""Tests of the controller of DiskSchedules: what it writes, and that no fault makes it grant twice.

Only here its requests are looked at; what it decides is tested in `tests/unit/longhorn`.
"""
