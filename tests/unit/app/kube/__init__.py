"""Tests of reading Kubernetes and Longhorn objects, and of following them.

Only here watches break in every way, and objects hold what they never should.
"""
