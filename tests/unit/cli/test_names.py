"""Names as kubectl takes them: with or without the kind before a slash."""

from pathlib import Path

import pytest

from cli.names import Named, WrongKindError, node_name, split_kind, without_kind

RICH = str(Path(__file__).parents[3] / "examples" / "rich")
KINDS: dict[str, tuple[Named | None, str]] = {
    **{"web": (None, "web"), "default/web": (None, "default/web"), "node": (None, "node")},
    **{"po/web": (Named.POD, "web"), "Pods/default/web": (Named.POD, "default/web")},
    **{"pvc/default/data": (Named.CLAIM, "default/data"), "pv/it": (Named.PERSISTENT_VOLUME, "it")},
    **{"volumes.longhorn.io/it": (Named.VOLUME, "it"), "lhv/it": (Named.VOLUME, "it")},
    **{"no/a": (Named.NODE, "a"), "nodes.longhorn.io/a": (Named.NODE, "a")},
    **{"node/": (Named.NODE, ""), "sts/db": (Named.STATEFUL_SET, "db")},
    "statefulsets.apps/shop/db": (Named.STATEFUL_SET, "shop/db"),
    **{"deploy/web": (Named.DEPLOYMENT, "web"), "rs/web": (Named.REPLICA_SET, "web")},
    "DaemonSet/agent": (Named.DAEMON_SET, "agent"),
    **{"job.batch/once": (Named.JOB, "once"), "cj/nightly": (Named.CRON_JOB, "nightly")},
}


@pytest.mark.parametrize(("given", "expected"), KINDS.items())
def test_a_kind_stands_before_the_first_slash(given, expected):
    assert split_kind(given) == expected


def test_another_kind_is_an_error_that_names_both():
    with pytest.raises(WrongKindError, match="pvc/data is a claim; give a node"):
        node_name("pvc/data")
    assert without_kind("no/a", Named.NODE) == "a"


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("node/node-a1", 0, "node node-a1: takes new replicas"),
        ("node/node-a11", 2, "node-a1"),  # a similar one
    ],
)
def test_filter_takes_a_node(called, name, status, said):
    found, out, err = called("filter", name, "--cluster-file", RICH)

    assert (found, said in (err if status else out.splitlines()[0])) == (status, True)


def test_nodes_of_a_plan_may_have_their_kind(run):
    plain, said = (
        run(*words, "-o", "json", files=RICH)[1]
        for words in (("cordon", "node-a1", "node-a2"), ("cordon", "no/node-a1", "node/node-a2"))
    )

    assert plain == said


ABSENT = {
    "drain pod/web": "drain: pod/web is a pod; give a node",
    "remove-disk node/node-a1/nosuch": "node-a1",
    "add-node new --like node/nosuch": "there is no node nosuch",
    "resize pvc/default/nosuch 20Gi": "default/nosuch",
    "resize pvc/nosuch 20Gi": "default/nosuch",
}


@pytest.mark.parametrize(("words", "text"), ABSENT.items())
def test_what_a_plan_names_is_found_without_its_kind(run, words, text):
    status, _, error = run(*words.split(), files=RICH)

    assert (status, text in error) == (2, True)
    assert "node/" not in error
    assert "pvc/" not in error
