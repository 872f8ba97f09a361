"""Tests of the election and of publishing who won it.

Only here clocks drift, answers are lost and leases are tampered with in any order.
"""
