"""Tests of explanations: only here it is shown what would have to change to let a pod in."""
