"""What may be in the way of a drain, and what else should be known before."""

from enum import StrEnum

import msgspec


class Code(StrEnum):
    """What is in the way, in the order in which it is to be remedied.

    kubectl refuses to begin; then pods stay, so that their volumes stay attached; then Longhorn
    asks about volumes that are attached, and only after that about replicas.
    """

    NODE_NOT_READY = "node_not_ready"
    POD_WITHOUT_CONTROLLER = "pod_without_controller"
    POD_WITH_LOCAL_DATA = "pod_with_local_data"
    MANAGER_WITH_LOCAL_DATA = "manager_with_local_data"
    SEVERAL_BUDGETS = "several_budgets"
    BUDGET = "budget"
    MANAGER_NOT_RUNNING = "manager_not_running"
    MANAGER_OF_UNKNOWN_TYPE = "manager_of_unknown_type"
    ATTACHED_BY_HAND = "attached_by_hand"
    ATTACHED_BY_LONGHORN = "attached_by_longhorn"
    ATTACHED_FOR_STAYING_POD = "attached_for_staying_pod"
    ORPHANED_ENGINE = "orphaned_engine"
    NO_POLICY = "no_policy"
    REPLICA_TO_MOVE = "replica_to_move"
    PEER_UNCLEAR = "peer_unclear"
    FAILED_REPLICA = "failed_replica"
    LAST_REPLICA = "last_replica"
    LAST_REPLICA_TO_MOVE = "last_replica_to_move"
    STRICT_LOCAL_REPLICA = "strict_local_replica"


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in the way."""

    code: Code
    object: str
    """Kind and name."""
    text: str
    """Why it is in the way, said of the object."""
    logged: str = ""
    """What Longhorn's manager logs of it, where it does."""


class Hint(StrEnum):
    """What does not keep a node from being drained, and should be known before."""

    VOLUME_AWAY = "volume_away"
    SHARDS_NOT_WHOLE = "shards_not_whole"
    SHARDS_LOST = "shards_lost"
    ONE_BY_ONE = "one_by_one"
    DETACHING = "detaching"


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """Such a thing."""

    code: Hint
    object: str
    text: str
