"""Vulnerable, clean and not audited are told apart."""

import msgspec
import pytest

from supply.audit import Dependency, Report, Verdict, Vulnerability, judge

CLEAN = Dependency(name="clean", version="1.0")
BAD = Dependency(
    name="bad",
    version="2.0",
    vulns=(Vulnerability(id="PYSEC-1", aliases=("CVE-1",), fix_versions=("2.1", "3.0")),),
)
HOPELESS = Dependency(
    name="hopeless", version="3.0", vulns=(Vulnerability(id="PYSEC-2", fix_versions=()),)
)
UNKNOWN = Dependency(name="unknown", skip_reason="Dependency not found: unknown (4.0)")


def judged(*dependencies: Dependency, accepted: str = "") -> Verdict:
    output = msgspec.json.encode(Report(dependencies)).decode()
    return judge(output, "what pip-audit says besides", {accepted: "not exposed"})


JUDGED: dict[str, tuple[list[Dependency], Verdict]] = {
    "clean": ([CLEAN, CLEAN], Verdict(("known vulnerabilities in 2 packages: none",))),
    "vulnerable": (
        [CLEAN, BAD, HOPELESS],
        Verdict(
            (
                "bad 2.0: CVE-1, PYSEC-1; fixed in 2.1, 3.0",
                "hopeless 3.0: PYSEC-2; fixed in no release",
                "known vulnerabilities in 3 packages: 2",
            ),
            is_failure=True,
        ),
    ),
    "nothing audited, since the service knows nothing": (
        [UNKNOWN, UNKNOWN],
        Verdict(
            ("NOTHING AUDITED, the service knows none of 2 packages: "
             "Dependency not found: unknown (4.0)",),
            is_incomplete=True,
        ),
    ),
    "some not audited": (
        [CLEAN, UNKNOWN],
        Verdict(
            ("known vulnerabilities in 1 packages: none; "
             "NOT AUDITED, as the service does not know them: unknown",),
            is_incomplete=True,
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("dependencies", "verdict"), JUDGED.values(), ids=JUDGED)
def test_what_is_said_of_dependencies(dependencies, verdict):
    assert judged(*dependencies) == verdict


@pytest.mark.parametrize("name", ["PYSEC-1", "CVE-1"])
def test_an_accepted_vulnerability_is_none(name):
    assert judged(BAD, accepted=name) == Verdict(("known vulnerabilities in 1 packages: none",))


def test_an_empty_list_is_no_audit():
    assert judged().is_incomplete


@pytest.mark.parametrize(
    "last",
    [
        "requests.exceptions.ConnectionError: Failed to resolve",
        "requests.exceptions.ReadTimeout: Read timed out.",
        "pip_audit._service.interface.ServiceError",
        "ERROR:pip_audit._cli:Tip: your network may be blocking this service. Try another",
    ],
)
def test_nothing_audited_since_the_service_is_away(last):
    assert judge("", f"Traceback\n  a line\n{last}\n", {}) == Verdict(
        (f"NOTHING AUDITED, the service was not reached: {last}",), is_incomplete=True
    )


def test_a_list_that_pip_audit_cannot_read_is_a_failure_whether_an_audit_is_required_or_not():
    last = "ERROR:pip_audit._cli:requirement foo>=1 does not contain a hash"

    assert judge("", last, {}) == Verdict((f"pip-audit failed: {last}",), is_failure=True)
