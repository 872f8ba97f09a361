"""Longhorn in memory: where its replica scheduler places, reuses and evicts replicas, pure."""

from simulator.candidates import Candidate, Candidates, find_candidates
from simulator.choice import choices
from simulator.eviction import drain_may_end, needs_eviction
from simulator.objects import BackingImage, Node, Replica, Volume
from simulator.reasons import Reason
from simulator.reuse import is_potentially_reusable, needs_new_replica, reusable
from simulator.settings import Settings, UnreadableSetting, read_settings

__all__ = [
    "BackingImage",
    "Candidate",
    "Candidates",
    "Node",
    "Reason",
    "Replica",
    "Settings",
    "UnreadableSetting",
    "Volume",
    "choices",
    "drain_may_end",
    "find_candidates",
    "is_potentially_reusable",
    "needs_eviction",
    "needs_new_replica",
    "read_settings",
    "reusable",
]
