"""What Longhorn does: its objects and its rules, pure.

The only place with a formula, a tag rule or an order of choice that is Longhorn's. It agrees with
3,000 recorded decisions of Longhorn's own scheduler (docs/decisions/0012).
"""

from longhorn.accounting import account
from longhorn.admission import (
    node_change_refusal,
    replica_deletion_refusal,
    setting_refusal,
    volume_change_refusal,
)
from longhorn.arithmetic import (
    limit_bytes,
    minimal_available_bytes,
    shard_size_bytes,
    volume_size_bytes,
)
from longhorn.candidates import (
    Candidate,
    Candidates,
    choices,
    chosen_disks,
    chosen_nodes,
    find_candidates,
    search,
    wants_replica_on_node,
)
from longhorn.clones import Place, may_be_rebuilt
from longhorn.data import (
    AUTO_SALVAGE,
    DataState,
    JudgedReplica,
    VolumeData,
    data_of,
    has_data,
    has_live_engine,
    is_readable,
)
from longhorn.disk_schedule import decide_schedule, found_on_disk
from longhorn.disks import (
    DiskKind,
    DiskSpace,
    disk_space,
    has_room,
    is_on,
    is_schedulable,
    mismatch,
    takes_replicas,
)
from longhorn.due import (
    MOST_REPLICAS,
    NOTHING_DUE,
    OFFLINE_REBUILDING,
    Due,
    due_replicas,
    is_placed,
    is_serving,
    is_usable,
    needed_to_start,
    rebuilds_offline,
    surplus,
    waits_for_attach,
)
from longhorn.engines import (
    ALL_RUNS,
    V2_OFF_LABEL,
    Attachment,
    AttachRefusal,
    EngineImage,
    Engines,
    InstanceManager,
    attach_refusal,
    attachment_of,
    engines_of,
    images_on,
    starts_replicas,
)
from longhorn.eviction import drain_may_end, needs_eviction
from longhorn.grants import (
    Closed,
    Decision,
    Happened,
    LetGo,
    NodeUnknown,
    Owner,
    OwnerKind,
    Refusal,
    granted_bytes,
    granted_limit_bytes,
    owners_of,
    refused_owners,
    unowned,
)
from longhorn.groups import (
    Group,
    Usage,
    groups_of,
    may_share_disk,
    may_share_node,
    may_share_zone,
    usage_of,
)
from longhorn.growth import NO_GROWTH, Growth, expanded_bytes, takes_growth
from longhorn.hosts import Hosts, disk_reason, host_of
from longhorn.needs import Engine, Need, Selector, all_match, need_of, split_tags, tags_match
from longhorn.nodes import (
    CORDONED,
    NodeDisks,
    NodeRefusal,
    has_tags,
    is_down,
    meets_topology,
    node_disks,
    refusal_of,
    refusals_of,
)
from longhorn.records import (
    BackingImage,
    Condition,
    Disk,
    DiskId,
    DiskName,
    Locality,
    Moment,
    Node,
    NodeName,
    Reason,
    ReplicaName,
    Setting,
    TopologyTerm,
    Unreadable,
    Volume,
    VolumeName,
    VolumeTold,
)
from longhorn.replicas import Replica, Shard, named_volume, new_replica
from longhorn.reuse import (
    RETRY_LIMIT,
    is_potentially_reusable,
    needs_new_replica,
    reusable,
    takes_back,
    wait_is_over,
)
from longhorn.schedules import DiskSchedule, Entry, EntryState, Part, Standing, parts
from longhorn.settings import (
    OWN_EXTENDER,
    SCHEDULER_SETTINGS,
    OwnExtender,
    Settings,
    default_values,
    own_extender,
    parse_bool,
    parse_int,
    read_settings,
    value_for_engine,
)
from longhorn.tracking import CAPACITY_TRACKING, Capacity, capacity_of, told_bytes, tracked_need
from longhorn.upgrades import InstanceManagerUpgrade, is_paused, paused_by
from longhorn.usability import Awaited, Missing, Usability, judge_replica

__all__ = [
    "ALL_RUNS", "AUTO_SALVAGE", "CAPACITY_TRACKING", "CORDONED", "MOST_REPLICAS", "NOTHING_DUE",
    "NO_GROWTH", "OFFLINE_REBUILDING", "OWN_EXTENDER", "RETRY_LIMIT", "SCHEDULER_SETTINGS",
    "V2_OFF_LABEL", "AttachRefusal", "Attachment", "Awaited", "BackingImage", "Candidate",
    "Candidates", "Capacity", "Closed", "Condition", "DataState", "Decision", "Disk", "DiskId",
    "DiskKind", "DiskName", "DiskSchedule", "DiskSpace", "Due", "Engine", "EngineImage", "Engines",
    "Entry", "EntryState", "Group", "Growth", "Happened", "Hosts", "InstanceManager",
    "InstanceManagerUpgrade", "JudgedReplica", "LetGo", "Locality", "Missing", "Moment", "Need",
    "Node", "NodeDisks", "NodeName", "NodeRefusal", "NodeUnknown", "OwnExtender", "Owner",
    "OwnerKind", "Part", "Place", "Reason", "Refusal", "Replica", "ReplicaName", "Selector",
    "Setting", "Settings", "Shard", "Standing", "TopologyTerm", "Unreadable", "Usability", "Usage",
    "Volume", "VolumeData", "VolumeName", "VolumeTold", "account", "all_match", "attach_refusal",
    "attachment_of", "capacity_of", "choices", "chosen_disks", "chosen_nodes", "data_of",
    "decide_schedule", "default_values", "disk_reason", "disk_space", "drain_may_end",
    "due_replicas", "engines_of", "expanded_bytes", "find_candidates", "found_on_disk",
    "granted_bytes", "granted_limit_bytes", "groups_of", "has_data", "has_live_engine", "has_room",
    "has_tags", "host_of", "images_on", "is_down", "is_on", "is_paused", "is_placed",
    "is_potentially_reusable", "is_readable", "is_schedulable", "is_serving", "is_usable",
    "judge_replica", "limit_bytes", "may_be_rebuilt", "may_share_disk", "may_share_node",
    "may_share_zone", "meets_topology", "minimal_available_bytes", "mismatch", "named_volume",
    "need_of", "needed_to_start", "needs_eviction", "needs_new_replica", "new_replica",
    "node_change_refusal", "node_disks", "own_extender", "owners_of", "parse_bool", "parse_int",
    "parts", "paused_by", "read_settings", "rebuilds_offline", "refusal_of", "refusals_of",
    "refused_owners", "replica_deletion_refusal", "reusable", "search", "setting_refusal",
    "shard_size_bytes", "split_tags", "starts_replicas", "surplus", "tags_match", "takes_back",
    "takes_growth", "takes_replicas", "told_bytes", "tracked_need", "unowned", "usage_of",
    "value_for_engine", "volume_change_refusal", "volume_size_bytes", "wait_is_over",
    "waits_for_attach", "wants_replica_on_node",
]  # fmt: skip
