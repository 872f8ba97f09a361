"""Errors of the decision itself. A node that does not fit is no error but a rejection."""

from enum import StrEnum

_MOST_CHARACTERS = 500
"""Of a part of a text. Names have 317 at most, with their namespace, and our own words fewer."""


class ClaimProblem(StrEnum):
    """Why a claim does not lead to a volume."""

    NOT_FOUND = "object_not_found"
    DELETING = "object_deleting"
    UNREADABLE = "object_unreadable"
    REPLICA_UNREADABLE = "replica_unreadable"
    NO_CLASS = "claim_without_class"
    NO_SIZE = "volume_without_size"
    NEGATIVE_SIZE = "negative_size"
    REFUSED = "claim_refused"
    BAD_PARAMETER = "bad_parameter"
    BAD_SETTING = "bad_setting"


class ExtenderError(Exception):
    """Base of the errors raised here. Its text is for the person who looks after the pod."""


class TooMuchHeldError(ExtenderError):
    """There is no memory for one more open hold."""


class OtherPodError(ExtenderError):
    """The uid is that of another pod, which has a hold. The text is the same each time."""


class UnresolvableClaimError(ExtenderError):
    """A claim of the pod does not lead to a volume; the whole request is answered with the text.

    The text does not vary while its cause stands: kube-scheduler takes a change of it for news.
    """

    def __init__(self, problem: ClaimProblem, kind: str, name: str, text: str, advice: str) -> None:
        super().__init__(f"{kind} {cut(name)} {cut(text)}; {cut(advice)}")
        self.problem = problem
        self.kind = kind
        self.name = name


class UnseenObjectError(UnresolvableClaimError):
    """What a claim leads to is not known. kube-scheduler asks for no pod whose claims it does not
    know, so that it may be heard of any moment.
    """


def cut(text: str) -> str:
    """Return a text with what is in an object, but not more of it than anybody reads."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


def sized(size_bytes: int) -> str:
    """Say a size in the largest unit that is exact; volumes are multiples of 2 MiB."""
    for unit, name in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB")):
        if size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} B"
