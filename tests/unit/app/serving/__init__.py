"""Tests of the HTTP interface: what is read, what is refused and why, and what is counted.

Only here a request may be anything; who asks in other tests is kube-scheduler or like it.
"""
