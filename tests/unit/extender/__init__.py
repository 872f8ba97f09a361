"""Tests of the decision: which nodes are accepted, with what reason the others are not, and scores.

Only here what is decided is compared with other ways to find the same: models that work all out
anew, trying everything, and what Longhorn was recorded to do.
"""
