"""Which tags meet a selector.

Source: longhorn-manager types.IsSelectorsInTags.
"""

from collections.abc import Iterable

Selector = tuple[str, ...]


def tags_match(tags: frozenset[str], selector: Selector, *, allow_empty: bool) -> bool:
    """Say whether *tags* meet *selector*: all of it, case-sensitive, nothing trimmed.

    An empty selector meets anything if *allow_empty*, else only what has no tags.
    """
    if not selector:
        return allow_empty or not tags
    return tags.issuperset(selector)


def all_match(tags: frozenset[str], selectors: Iterable[Selector], *, allow_empty: bool) -> bool:
    """Say whether *tags* meet each of *selectors*."""
    return all(tags_match(tags, each, allow_empty=allow_empty) for each in selectors)


def split_tags(text: str) -> Selector:
    """Read the selector of a StorageClass: not trimmed, so that "a, b" asks for a tag " b".

    Source: longhorn-manager csi/util.go getVolumeOptions.
    """
    return tuple(text.split(","))
