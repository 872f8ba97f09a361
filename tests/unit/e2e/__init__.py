"""Tests of what judges and records in end-to-end tests: an error there would hide one of ours.

What fails loudly by itself, such as building a control plane, is not tested.
"""
