"""The survey as JUnit's XML, which CI systems show: a test case for each code.

Source of the format: https://github.com/testmoapp/junitxml.
"""

from collections.abc import Callable, Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from cli.catalogue import RISKS
from cli.findings import Finding
from cli.paragraphs import printable
from cli.survey.survey import Survey


def junit_lines(found: Survey, is_failure: Callable[[Finding], bool]) -> Iterator[str]:
    """Write it: what fails is a failure of its code's test case, all else its output."""
    suite, failed = Element("testsuite", name="survey"), 0
    for code in RISKS:
        case = SubElement(suite, "testcase", classname="survey", name=code)
        of_code = [each for each in found.findings if each.code == code]
        failures = [each for each in of_code if is_failure(each)]
        failed += bool(failures)
        if failures:
            first, *more = (printable(each.text) for each in failures)
            message = f"{first}; and {len(more)} more" if more else first
            it = SubElement(case, "failure", type=failures[0].severity, message=message)
        elif of_code:
            it = SubElement(case, "system-out")
        else:
            continue
        it.text = "\n".join(line for each in of_code for line in _told(each))
    suite.set("tests", str(len(RISKS)))
    suite.set("failures", str(failed))
    indent(suite)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield tostring(suite, encoding="unicode")


def _told(finding: Finding) -> Iterator[str]:
    """Write all that is told of a finding; XML can have no control characters, not even escaped."""
    yield printable(f"{finding.severity}: {finding.text}")
    yield from (printable(f"  {each}") for each in finding.objects)
    yield from (printable(f"  -> {each}") for each in finding.remedies)
