"""`scheduler-config`: what is shipped is what it prints, and only our lines of a file change."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from app.errors import InputError
from cli import scheduler_config
from cli.scheduler_config import (
    SIZE_LIMIT_BYTES,
    Distribution,
    Flaw,
    Given,
    check_reachable,
    make_wanted,
    merged,
    owned_entries,
    read_given,
    tls_contents,
    tls_files,
    written,
)
from tests.scheduler_configurations import (
    COMMENTS,
    FOUND,
    HEAD,
    KUBEADM,
    NAMESPACES,
    OLDER_ENTRY,
    OLDER_URL,
    REPLACED,
    TWO_PROFILES,
)

MANIFESTS = Path(__file__).parents[3] / "manifests"
URL = "http://10.96.0.95:9504"
KUBE = Distribution.KUBEADM
WANTED = make_wanted(KUBE, URL)
NO_CAPACITY_SCORE = make_wanted(KUBE, URL, capacity_score=False)
PROFILE = {
    "schedulerName": "default-scheduler",
    "plugins": {"score": {"disabled": [{"name": "VolumeBinding"}]}},
}
NODES = "percentageOfNodesToScore: 100\n"
TLS = tls_files("/tls/ca.crt", "/tls/tls.crt", "/tls/tls.key", "extender.svc")
HTTPS = "https://10.96.0.95:9504"
SERVER_NAME = "longhorn-scheduler-extender.longhorn-scheduler.svc"
ON_NODES = tls_files(None, None, None, SERVER_NAME)
SHIPPED = {
    KUBE: (HTTPS, ON_NODES, "scheduler/kubeadm.yaml"),
    Distribution.K3S: (HTTPS, ON_NODES, "scheduler/k3s.yaml"),
    Distribution.RKE2: (HTTPS, ON_NODES, "scheduler/rke2.yaml"),
    Distribution.TALOS: (HTTPS, {"serverName": SERVER_NAME} | dict.fromkeys(("caData", "certData",
        "keyData"), "CONTENTS"), "scheduler/talos.yaml"),
    Distribution.SECONDARY: (f"https://{SERVER_NAME}:9504", ON_NODES,
        "secondary-scheduler/config.yaml"),
}  # fmt: skip

EMPTY = f"""{HEAD}extenders: null  # none yet
clientConnection: {{kubeconfig: /etc/kubernetes/scheduler.conf}}
"""
TALOS = """cluster:
  scheduler:
    image: registry.k8s.io/kube-scheduler:v1.36.2
    config:
      profiles:
        - schedulerName: default-scheduler
  network: {}
---
apiVersion: v1alpha1
kind: HostnameConfig
"""
TALOS_OF_ITS_OWN = """apiVersion: v1alpha1
kind: KubeSchedulerConfig
config:
  parallelism: 8
"""
ADDED = {
    **{name: found.text for name, found in FOUND.items() if name not in REPLACED},
    "extenders-null": EMPTY,
    "extenders-empty-list": f"{HEAD}extenders: []\n",
    "extenders-without-value": f"{HEAD}extenders:\nparallelism: 3",
    "windows": TWO_PROFILES.replace("\n", "\r\n"),
    "carriage-returns-alone": KUBEADM.replace("\n", "\r"),
    "no-last-line-end": KUBEADM.rstrip(),
    "block-text-at-the-end": f"{HEAD}x: |\n  a\n\n  b\n",
    "document-ends": f"{KUBEADM}...\n",
    "share-of-nodes-as-ours": f"{KUBEADM}{NODES}",
    "profile-as-ours": HEAD + yaml.safe_dump({"profiles": [PROFILE]}),
}

BLOCKS = (
    "# a comment\n\n",
    "profiles:\n",
    "profiles:  # none\n  # but one\n",
    "profiles: []\n",
    "profiles:\n- schedulerName: a\n# after it\n",
    "profiles:\n  - schedulerName: a\n    plugins: {}\n    # - b\n\n  # - c\n",
    "clientConnection: {\n  kubeconfig: /a\n}\n",
    "clientConnection:\n  kubeconfig: 'a\n    b'\n",
    "leaderElection:\n  resourceName: |-\n    a\n",
    "leaderElection:\n  resourceName: >+\n    a\n\n\n",
    '"parallelism": 3\n',
    "parallelism : 3  # Grüße \U0001f600\n",
)
EXTENDERS = (
    "",
    "extenders:\n",
    "extenders:   \n",
    "extenders: ~ # none\n# at all\n",
    "extenders: []\n",
    "'extenders' : [ ]\n",
    "extenders:\n- urlPrefix: http://a:1\n\n",
    "extenders:\n# first\n  # second\n    - urlPrefix: http://a:1\n      # third\n    # fourth\n",
    "extenders:\n  -\n    urlPrefix: http://a:1\n  - # x\n    urlPrefix: |-\n      http://b:1\n",
)


def read(text: str, distribution: Distribution = KUBE) -> Given:
    return read_given("FILE", text.encode(), distribution)


def merge(text: str) -> str:
    return merged(read(text), WANTED, NAMESPACES, [OLDER_URL])


def removed(given: Given, url: str | None = URL) -> str:
    return scheduler_config.removed(given, url, NAMESPACES)


def flaws(
    given: Given, distribution: Distribution, url: str | None, *, capacity_score: bool = True
) -> list[Flaw]:
    owned = owned_entries(given.entries, url, NAMESPACES)
    return scheduler_config.flaws(given, distribution, url, owned, capacity_score=capacity_score)


def entries(text: str) -> Any:
    return yaml.safe_load(text)["extenders"]


def with_entry(**changes: Any) -> str:
    """Write a right configuration with our entry changed; None takes a field out."""
    entry = {k: v for k, v in {**WANTED.entry, **changes}.items() if v is not None}
    config = {**yaml.safe_load(KUBEADM + NODES), "extenders": [entry]}
    return yaml.safe_dump(config)


def test_free_storage_gives_no_points_if_that_is_asked_for():
    config = yaml.safe_load(written(NO_CAPACITY_SCORE))

    assert config["profiles"] == [PROFILE]
    assert "profiles" not in yaml.safe_load(written(WANTED))


@pytest.mark.parametrize("name", ADDED)
def test_merged_so_it_gives_none_and_removed_all_is_as_before(name):
    given = read(ADDED[name])

    once = merged(given, NO_CAPACITY_SCORE, NAMESPACES)

    profiles = yaml.safe_load(once)["profiles"]
    assert profiles == given.config.get("profiles", [PROFILE])
    assert merged(read(once), NO_CAPACITY_SCORE, NAMESPACES) == once
    assert removed(read(once)) == removed(read(merged(given, WANTED, NAMESPACES)))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (KUBEADM, ["the default profile"]),
        (f"{HEAD}profiles: [null, {PROFILE}, {{schedulerName: a}}]", ["profiles[0]",
            "profiles[2]"]),
        (f"{HEAD}profiles: [{{plugins: {{score: {{disabled: [{{name: '*'}}]}}}}}}]", []),
    ],
)  # fmt: skip
def test_check_names_profiles_in_which_free_storage_gives_points(text, names):
    given = read(text)
    wrong = {*map(str, flaws(given, KUBE, URL, capacity_score=False))}
    wrong -= {*map(str, flaws(given, KUBE, URL))}

    assert sorted(each.partition(" lets VolumeBinding give points")[0] for each in wrong) == names


@pytest.mark.parametrize("distribution", Distribution)
def test_the_shipped_file_is_what_is_printed_and_nothing_is_wrong_with_it(distribution):
    url, tls, file = SHIPPED[distribution]
    lines = (MANIFESTS / file).read_text(encoding="utf-8").splitlines(keepends=True)
    while lines[0].startswith("#"):  # what to do with the file
        del lines[0]

    text = written(make_wanted(distribution, url, tls))

    assert text == "".join(lines)
    assert flaws(read(text, distribution), distribution, url) == []
    plain = written(make_wanted(distribution, URL))
    assert flaws(read(plain, distribution), distribution, URL) == []


@pytest.mark.parametrize("distribution", list(Distribution)[:3])
def test_what_is_shipped_is_left_without_anything_of_ours(distribution):
    text = (MANIFESTS / SHIPPED[distribution][2]).read_text(encoding="utf-8")

    left = sorted(yaml.safe_load(removed(read(text, distribution))))

    assert left == ["apiVersion", "clientConnection", "kind", "leaderElection"]


def test_the_certificates_can_be_in_the_configuration():
    assert tls_contents(b"ca", None, None, "n") == {"serverName": "n", "caData": "Y2E="}


@pytest.mark.parametrize("found", ADDED.values(), ids=ADDED)
def test_the_entry_is_added_once_and_taken_out_and_nothing_else_is_changed(found):
    once = merge(found)

    before, after = yaml.safe_load(found), yaml.safe_load(once)
    assert after == {
        "percentageOfNodesToScore": 100,
        **before,
        "extenders": [*(before.get("extenders") or []), WANTED.entry],
    }
    lines = [line for line in found.splitlines() if not line.startswith("extenders:")]
    there = iter(once.splitlines())
    assert [line for line in lines if line not in there] == []  # all of them, in their order
    assert merge(once) == once
    assert removed(read(once)) == found


def test_talos_gets_the_same_configuration_in_a_patch_and_in_a_document():
    wanted = make_wanted(Distribution.TALOS, URL)
    patch = yaml.safe_load(written(wanted))

    text = written(wanted, own_document=True)

    assert yaml.safe_load(text) == {
        "apiVersion": "v1alpha1",
        "kind": "KubeSchedulerConfig",
        "config": patch["cluster"]["scheduler"]["config"],
    }
    given = read(text, Distribution.TALOS)
    assert flaws(given, Distribution.TALOS, URL) == []
    assert merged(given, wanted, NAMESPACES) == text


@pytest.mark.parametrize("found", [TALOS, TALOS_OF_ITS_OWN], ids=["patch", "document"])
def test_a_file_of_talos_is_merged_and_given_back(found):
    wanted = make_wanted(Distribution.TALOS, URL)

    text = merged(read(found, Distribution.TALOS), wanted, NAMESPACES)

    again = read(text, Distribution.TALOS)
    assert again.entries == [wanted.entry]
    assert flaws(again, Distribution.TALOS, URL) == []
    assert merged(again, wanted, NAMESPACES) == text
    assert removed(again) == found


@hypothesis.given(
    blocks=st.lists(
        st.sampled_from(BLOCKS), unique_by=lambda block: block.partition(":")[0].strip('" ')
    ),
    extenders=st.sampled_from(EXTENDERS),
    place=st.integers(0, len(BLOCKS)),
    newline=st.sampled_from(["\n", "\r\n"]),
    ends=st.booleans(),
)
def test_what_comes_before_and_after_does_not_matter(blocks, extenders, place, newline, ends):
    found = HEAD + "".join([*blocks[:place], extenders, *blocks[place:]])
    found = (found if ends else found[:-1]).replace("\n", newline)

    once = merge(found)

    assert WANTED.entry in entries(once)
    assert merge(once) == once
    assert removed(read(once)) == found


def test_a_patch_of_talos_with_nothing_else_is_left_empty():
    text = written(make_wanted(Distribution.TALOS, URL))
    alone = re.sub(r"      leaderElection:\n.*\n", "", text)

    left = removed(read(alone, Distribution.TALOS))

    assert left == "cluster:\n  scheduler:\n    config:\n"


def test_an_old_entry_is_replaced_in_its_place():
    text = merge(OLDER_ENTRY)

    urls = [entry["urlPrefix"] for entry in entries(text)]
    assert urls == ["http://other:80", URL, "http://third:80"]
    assert entries(text)[1] == WANTED.entry
    assert merge(text) == text
    assert "# first of all" in text
    assert "# last of all" in text
    assert "last year" not in text
    assert removed(read(text)) == removed(read(OLDER_ENTRY), OLDER_URL)


CHANGED: dict[str, tuple[int, dict[str, Any]]] = {
    "right": (0, {}),
    "values-of-ones-own": (0, {"weight": 7, "httpTimeout": "1m30s"}),
    "defaults": (0, {"ignorable": None, "enableHTTPS": None}),
    "no-scores": (1, {"prioritizeVerb": None, "weight": None}),
    "weight-zero": (1, {"weight": 0}),
    "filter-missing": (1, {"filterVerb": None}),
    "preempt-missing": (1, {"preemptVerb": None}),
    "ignorable": (1, {"ignorable": True}),
    "cache-in-a-text": (1, {"nodeCacheCapable": "true"}),
    "timeout-without-unit": (1, {"httpTimeout": 5}),
    "bind": (1, {"bindVerb": "bind"}),
    "resource-missing": (1, {"managedResources": None}),
    "resource-not-ignored": (1, {"managedResources": [{"name": "longhorn.io/scheduler-extender"}]}),
    "another-address": (1, {"urlPrefix": "http://10.43.0.95:9504"}),
    "another-scheme": (1, {"urlPrefix": HTTPS, "tlsConfig": ON_NODES}),
    "url-missing": (1, {"urlPrefix": None}),
    "https-at-http": (1, {"enableHTTPS": True}),
}
ADDRESSES: dict[str, dict[str, Any]] = {
    "ca-missing": {"urlPrefix": "https://x.y"},
    "certificate-missing": {"urlPrefix": "https://x.y", "tlsConfig": {"caFile": "f"}},
    "insecure": {"urlPrefix": "https://x.y", "tlsConfig": {**ON_NODES, "insecure": True}},
    "name-of-a-service": {"urlPrefix": "http://extender.longhorn-system.svc:9504"},
    "unreadable": {"urlPrefix": "http://[::1"},
}
AROUND: dict[str, tuple[Distribution, str]] = {
    "entry-missing": (KUBE, KUBEADM),
    "kubeconfig-missing": (Distribution.RKE2, HEAD),
    "sample": (Distribution.K3S, COMMENTS),
    "sample-of-a-profile": (KUBE,
        f"{HEAD}{NODES}profiles: [null, {{percentageOfNodesToScore: 50}}]\n"),
    "lease-missing": (Distribution.SECONDARY, HEAD),
    "profile-missing": (Distribution.SECONDARY, f"{HEAD}profiles: 3\n"),
}  # fmt: skip


def test_every_flaw_is_told(golden):
    """A change of the entry is one flaw of it, or none."""
    rows: dict[str, tuple[Distribution, str | None, str]] = {
        **{name: (KUBE, URL, with_entry(**entry)) for name, (_, entry) in CHANGED.items()},
        **{f"address {name}": (KUBE, None, with_entry(**entry))
           for name, entry in ADDRESSES.items()},
        **{f"around {name}": (where, URL, text) for name, (where, text) in AROUND.items()},
    }  # fmt: skip
    told = {
        name: [str(flaw) for flaw in flaws(read(text, where), where, url)]
        for name, (where, url, text) in rows.items()
    }

    lines = [line for name in told for line in (f"# {name}", *told[name], "")]
    golden("scheduler-config/flaws", "\n".join(lines))
    for name, (count, _) in CHANGED.items():
        assert [flaw[:12] for flaw in told[name]] == ["extenders[0]"] * count


REFUSED = {
    "empty": "",
    "null": "null\n",
    "list": "- a\n",
    "not-yaml": "a: [",
    "key-twice": "a: 1\na: 2\n",
    "binary": "\x00",
    "byte-order-mark": f"\ufeff{KUBEADM}",
    "deep": "[" * 1000,
    "huge": f"a: {'x' * SIZE_LIMIT_BYTES}",
    "another-kind": "kind: ConfigMap\n",
    "kind-of-another-type": "kind: {a: 1}\n",
    "two": f"{HEAD}---\n{HEAD}",
    "two-kinds": f"{HEAD}---\nkind: Pod\n",
    "old-version": HEAD.replace("/v1", "/v1beta3"),
    "version-missing": "kind: KubeSchedulerConfiguration\n",
    "entries-a-number": f"{HEAD}extenders: 3\n",
    "entries-a-mapping": f"{HEAD}extenders: {{}}\n",
    "entry-null": f"{HEAD}extenders: [null]\n",
    "entry-a-text": f"{HEAD}extenders: [x]\n",
    "alias": f"{HEAD}x: &a 1\ny: *a\n",
    "talos": TALOS,
    "brackets": f"{HEAD}extenders: [{{urlPrefix: x}}]\n",
    "json": json.dumps(yaml.safe_load(HEAD)),
    "list-on-its-own-line": f"{HEAD}extenders:\n  []\n",
}
UNUSABLE = [
    *("", "10.96.0.95:9504", "ftp://x", "http://x y", "http://x:99999", "http://[::1"),
    *("http://x/filter", "http://x?a", "https://x"),
]
UNREACHABLE = {
    "http://longhorn-scheduler-extender:9504": KUBE,
    "http://extender.longhorn-system.svc:9504": Distribution.K3S,
    "http://x.y.svc.cluster.local:9504": Distribution.RKE2,
    "http://x.y.svc.cluster.local.:9504": Distribution.RKE2,
    "http://X.Y.SVC:9504": Distribution.RKE2,
    "http://longhorn-scheduler-extender.longhorn-system:1": Distribution.TALOS,
    "http://10.96.0.95": KUBE,
    "http://x.y.svc": Distribution.SECONDARY,
}


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(InputError) as error:
        call()
    return str(error.value)


def test_configurations_and_urls_that_cannot_be_used_are_refused(golden):
    found = {name: refusal(partial(merge, text)) for name, text in REFUSED.items()}
    assert {each[:4] for each in found.values()} == {"FILE"}
    as_bytes = partial(read_given, "FILE", b"a:\xff", Distribution.K3S)
    found["bytes"] = refusal(as_bytes)
    found["not-for-talos"] = refusal(lambda: read(KUBEADM, Distribution.TALOS))
    for url in UNUSABLE:
        found[f"url {url}"] = refusal(partial(make_wanted, KUBE, url))
    with_files = partial(make_wanted, KUBE, "http://x", TLS)
    found["url http://x with certificates"] = refusal(with_files)
    for url, distribution in UNREACHABLE.items():
        found[f"{distribution} {url}"] = refusal(partial(check_reachable, url, distribution))

    text = "".join(f"# {name}\n{each}\n" for name, each in found.items())
    golden("scheduler-config/refused", text)


CALLABLE = {
    "http://10.96.0.95:9504": KUBE,
    "http://[fd00::1]:9504": KUBE,
    "http://localhost:9504": Distribution.K3S,
    "https://extender.example.org:443": Distribution.TALOS,
    "http://x.y.svc:9504": Distribution.SECONDARY,
}


@pytest.mark.parametrize(("url", "distribution"), CALLABLE.items())
def test_an_address_that_kube_scheduler_can_call_is_taken_and_read_back(url, distribution):
    check_reachable(url, distribution)

    [entry] = entries(
        written(make_wanted(Distribution.K3S, f"{url}/", ON_NODES if "https" in url else None))
    )
    assert entry["urlPrefix"] == url


def test_names_that_yaml_would_read_otherwise_are_quoted():
    names = tls_files("a: b", "c #d", "'", "true")

    [entry] = entries(written(make_wanted(Distribution.K3S, "https://x", names)))

    assert entry["tlsConfig"] == names
