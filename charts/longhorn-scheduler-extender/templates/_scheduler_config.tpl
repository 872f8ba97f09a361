{{/* What `scheduler-config --distribution secondary` prints, for this release. A test compares them. */}}
{{- define "extender.schedulerConfig" -}}
# No clientConnection.kubeconfig: kube-scheduler then uses the pod's service account.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  # Its own Lease. Otherwise only one of it and the cluster's own scheduler would run.
  resourceName: longhorn-scheduler
  resourceNamespace: {{ .Release.Namespace }}
  # As short as the service's own: after the end of a scheduler that could not say so, another one
  # begins within 8 s, and not 15.
  leaseDuration: 8s
  renewDeadline: 5s
  retryPeriod: 1s
# VolumeBinding gives no points: from Kubernetes 1.37 on it would give up to 100 for free storage,
# by figures up to a minute old. Which node's disks are best says the extender.
profiles:
  - schedulerName: {{ .Values.secondaryScheduler.schedulerName }}
    plugins:
      score:
        disabled:
          - name: VolumeBinding
# All nodes. Otherwise kube-scheduler sends only a sample of more than 100 nodes, and the one node
# with room may not be in it.
percentageOfNodesToScore: 100
extenders:
  # By name, since this kube-scheduler runs in the pods' network: no fixed address is needed. The
  # cluster's own scheduler schedules the DNS server, so neither waits for the other.
  - urlPrefix: {{ include "extender.url" . }}
    {{- if .Values.secondaryScheduler.ask }}
    filterVerb: filter
    # Before it evicts pods for one of higher priority, kube-scheduler asks on which nodes that
    # helps: volumes of Longhorn stay where they are when their pods go.
    preemptVerb: preempt
    # Of the nodes that fit, the one where the pod's data are is better. At weight 2 the scores add
    # up to 200 points to kube-scheduler's sum for a node: more than its images do (100), and no
    # more than a preferred node affinity (200). To do without scores, remove these two lines;
    # filterVerb works alone.
    prioritizeVerb: prioritize
    weight: 2
    {{- else }}
    # It is not asked: secondaryScheduler.ask is false. The entry stays, since without it no pod that asks
    # for the extender would get a node.
    {{- end }}
    enableHTTPS: {{ include "extender.isInsecure" . | empty }}
    {{- if not (include "extender.isInsecure" .) }}
    tlsConfig:
      # The name that the service's certificate must have. Without it that is the address above.
      serverName: {{ include "extender.serverName" . }}
      # Never leave this out: kube-scheduler would then trust any certificate.
      caFile: {{ include "extender.clientFolder" . }}/ca.crt
      certFile: {{ include "extender.clientFolder" . }}/tls.crt
      keyFile: {{ include "extender.clientFolder" . }}/tls.key
    {{- end }}
    # Node names instead of whole nodes: bodies are a hundred times smaller, and from 1.33 on
    # kube-scheduler would otherwise score the nodes as if no pod ran there.
    nodeCacheCapable: true
    # Pods that ask for the extender wait while it does not answer: they must not start where their
    # volumes cannot go. Other pods never depend on it.
    ignorable: false
    # kube-scheduler schedules nothing else while it waits, so keep it short. An answer takes
    # milliseconds, or less than this when it waits for another pod's node to be chosen.
    httpTimeout: 5s
    # A pod needs both schedulerName and this resource: a resource means the same in all clusters.
    # No node has it, so kube-scheduler must ignore it.
    managedResources:
      - name: longhorn.io/scheduler-extender
        ignoredByScheduler: true
{{- end }}
