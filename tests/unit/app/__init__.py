"""Tests of the process and its edges: what is read from outside, and what is written.

Only here bytes, statuses and faults of the API server are tried one by one.
"""
