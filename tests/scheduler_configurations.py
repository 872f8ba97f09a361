"""Configurations of kube-scheduler as they are found on clusters.

Written by us after public examples: those of kubeadm, of k3s' and Kubernetes' documentation, of
other extenders. kube-scheduler takes each of them, but for the path of the kubeconfig.
"""

from typing import NamedTuple

from cli.scheduler_config import Distribution, Namespaces


class Found(NamedTuple):
    """A configuration, and what runs kube-scheduler there."""

    distribution: Distribution
    text: str


NAMESPACES = Namespaces(ours="longhorn-scheduler", longhorns="longhorn-system")
LONGHORNS_URL = "http://longhorn-scheduler-extender.longhorn-system.svc:9504"
OLDER_URL = "http://10.43.0.9:9504"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

KUBEADM = f"""{HEAD}clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
leaderElection:
  leaderElect: true
"""
PROFILES = f"""{HEAD}clientConnection:
  kubeconfig: /var/lib/rancher/k3s/server/cred/scheduler.kubeconfig
profiles:
  - schedulerName: default-scheduler
    plugins:
      score:
        disabled:
          - name: NodeResourcesBalancedAllocation   # we fill nodes
        enabled:
          - name: NodeResourcesFit
            weight: 5
"""
TWO_PROFILES = f"""---
{HEAD}clientConnection:
    kubeconfig: "/etc/kubernetes/scheduler.conf"   # as kubeadm writes it
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {{type: MostAllocated, resources: [{{name: cpu, weight: 1}}]}}
- schedulerName: no-scoring-scheduler
  plugins:
    preScore:
      disabled:
      - name: '*'
    score:
      disabled:
      - name: '*'
  # - schedulerName: tried-once
"""
ANOTHER_EXTENDER = f"""{HEAD}extenders:
- urlPrefix: "http://127.0.0.1:9251"
  filterVerb: "predicate"
  prioritizeVerb: "prioritize"
  nodeCacheCapable: false
  weight: 1
  managedResources:
  - name: "topolvm.io/capacity"
    ignoredByScheduler: true
  # of TopoLVM
leaderElection:
  leaderElect: true
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
"""
OLDER_ENTRY = f"""{HEAD}clientConnection: {{kubeconfig: /etc/kubernetes/scheduler.conf}}
extenders:
  # first of all
  - urlPrefix: http://other:80
  - urlPrefix: {OLDER_URL}/  # ours of last year
    filterVerb: filter
    nodeCacheCapable: true
    managedResources:
      - name: longhorn.io/scheduler-extender
        ignoredByScheduler: true
  # last of all
  - {{urlPrefix: "http://third:80", filterVerb: filter}}
"""
OF_LONGHORN = f"""{HEAD}clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
leaderElection:
  leaderElect: true
extenders:
  # by Longhorn's proposal, enhancements/20260209-scheduler-extender.md
  - urlPrefix: "{LONGHORNS_URL}"
    filterVerb: "filter"
    enableHTTPS: false
    nodeCacheCapable: false
    ignorable: false
    httpTimeout: 10s
    managedResources:
      - name: "longhorn.io/scheduler-extender"
        ignoredByScheduler: true
  - urlPrefix: http://127.0.0.1:9251
    filterVerb: predicate
"""
COMMENTS = f"""# Who changes this restarts kube-scheduler.
{HEAD}
clientConnection:
  # of RKE2
  kubeconfig: /var/lib/rancher/rke2/server/cred/scheduler.kubeconfig
leaderElection:          # three control-plane nodes
  leaderElect: true
  leaseDuration: 15s

# We have 800 nodes.
percentageOfNodesToScore: 30
parallelism: 16 # Grüße
# the end"""

FOUND = {
    "kubeadm": Found(Distribution.KUBEADM, KUBEADM),
    "profiles": Found(Distribution.K3S, PROFILES),
    "two-profiles": Found(Distribution.KUBEADM, TWO_PROFILES),
    "another-extender": Found(Distribution.KUBEADM, ANOTHER_EXTENDER),
    "older-entry": Found(Distribution.KUBEADM, OLDER_ENTRY),
    "comments": Found(Distribution.RKE2, COMMENTS),
    "of-longhorn": Found(Distribution.KUBEADM, OF_LONGHORN),
}
REPLACED = {"older-entry": OLDER_URL, "of-longhorn": LONGHORNS_URL}
"""Where the entries for our resource lead, in those that have one: it is in the way of ours."""
