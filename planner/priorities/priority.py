"""What a priority is."""

from collections.abc import Callable, Mapping, Sequence

from longhorn import NodeName
from planner.cluster import Cluster
from planner.records import Pod

HIGHEST = 10
"""The score of a good fit; that of a bad one is 0."""

Priority = Callable[[Pod, Sequence[NodeName], Cluster], Mapping[NodeName, float]]
"""Scores each of the nodes that may have a pod, and perhaps others, from 0 to 10.

An empty answer stands for 0 everywhere.
"""
