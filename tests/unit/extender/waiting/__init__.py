"""Tests of pods that wait: only here it is counted how few probes find those that fit."""
