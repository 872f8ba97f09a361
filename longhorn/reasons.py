"""Why Longhorn could not place a replica, in its own words."""

from enum import StrEnum


class Reason(StrEnum):
    """The reasons that occur here (longhorn-manager k8s/pkg/apis/longhorn/v1beta2)."""

    CLIENT_OPERATION_FAILED = "longhorn client operation failed"
    DISKS_UNAVAILABLE = "disks are unavailable"
    ENGINE_IMAGE_NOT_READY = "none of the node candidates contains a ready engine image"
    HARD_AFFINITY = "hard affinity cannot be satisfied"
    INCOMPATIBLE_SIZE = "incompatible volume size"
    INSUFFICIENT_STORAGE = "insufficient storage"
    LINKED_CLONE = "linked clone replica cannot be satisfied"
    NODES_UNAVAILABLE = "nodes are unavailable"
    TAGS = "tags not fulfilled"
    TOPOLOGY = "topology requirement cannot be satisfied"
