"""Tests of pods that wait: only here it is counted how few looks find those that fit."""
