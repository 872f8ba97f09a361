"""Errors of the decision itself. A node that does not fit is no error but a rejection."""


class ExtenderError(Exception):
    """Base of the errors raised here. Its text is for the person who looks after the pod."""


class UnresolvableClaimError(ExtenderError):
    """A claim of the pod does not lead to a volume; the whole request is answered with the text.

    The text does not vary while its cause stands: kube-scheduler takes a change of it for news.
    """

    def __init__(self, kind: str, name: str, problem: str, advice: str) -> None:
        super().__init__(f"{kind} {name} {problem}; {advice}")
        self.kind = kind
        self.name = name


class UnseenObjectError(UnresolvableClaimError):
    """What a claim leads to is not known. kube-scheduler asks for no pod whose claims it does not
    know, so that it may be heard of any moment.
    """
