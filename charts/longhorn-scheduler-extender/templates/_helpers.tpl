{{/*
One release serves one Longhorn, so the names of its objects are fixed. Their namespace is left to Helm
and, for `manifests/`, to kustomize: if it were in the objects, patches of overlays that do not name it
would no longer find them. It is in those for which no kustomization can set it.
*/}}
{{- define "extender.name" -}}
longhorn-scheduler-extender
{{- end }}

{{/* The name of what is in no namespace of ours: with the namespace, as in DNS. Two installations in one
cluster, as while one moves to another namespace, do not take it away from each other. Takes a list: the
root, and the name. */}}
{{- define "extender.clusterWide" -}}
{{ last . }}.{{ (first .).Release.Namespace }}
{{- end }}

{{- define "extender.refuse" -}}
{{- if or .Values.nameOverride .Values.fullnameOverride -}}
{{- fail "nameOverride and fullnameOverride must be empty: one release serves one Longhorn, and its names are fixed in rights, in the service and in kube-scheduler's configuration" -}}
{{- end -}}
{{- if eq .Values.tls.mode "none" -}}
{{- fail "tls.mode none is called insecure now, and is no longer what is installed without a word: leave tls.mode out, or set it to insecure if plain HTTP is what you want (docs/upgrade.md#to-closed-doors)" -}}
{{- end -}}
{{- if not (default dict .Values.tls | dig "clientCertificates" true) -}}
{{- fail "tls.clientCertificates is gone: only clients with a certificate are answered. Set it to null; for clients without one there is tls.mode insecure (docs/upgrade.md#to-closed-doors)" -}}
{{- end -}}
{{- if and .Values.tls.clientNames (include "extender.isInsecure" .) -}}
{{- fail "tls.clientNames needs certificates, which the mode insecure has not" -}}
{{- end -}}
{{- end }}

{{/* Which kube-scheduler calls the service: its own second one, or that of the cluster. */}}
{{- define "extender.mode" -}}
{{ .Values.mode | default (include "extender.fixedUrl" . | empty | ternary "second-scheduler" "cluster-scheduler") }}
{{- end }}

{{/* Whether there is a second kube-scheduler: true or empty. */}}
{{- define "extender.secondScheduler" -}}
{{- if or (eq (include "extender.mode" .) "second-scheduler") .Values.secondaryScheduler.enabled -}}
true
{{- end }}
{{- end }}

{{/* Whether some kube-scheduler can reach the service: true or empty. */}}
{{- define "extender.schedulerCanCall" -}}
{{- if or (include "extender.fixedUrl" .) (include "extender.secondScheduler" .) -}}
true
{{- end }}
{{- end }}

{{/* Fails where Helm asks a cluster in which nothing could work. */}}
{{- define "extender.needLonghorn" -}}
{{- if lookup "v1" "Namespace" "" "kube-system" -}}
{{- $kind := "longhorn.io/v1beta2" -}}
{{- if not (.Capabilities.APIVersions.Has $kind) -}}
{{- fail "this cluster serves no longhorn.io/v1beta2: install Longhorn first" -}}
{{- end -}}
{{- if .Release.IsInstall -}}
{{- if eq .Release.Namespace "default" -}}
{{- fail "the namespace is default, whose pods could then not ask for the extender: say --namespace longhorn-scheduler" -}}
{{- end -}}
{{- if not (lookup $kind "Node" .Values.longhornNamespace "").items -}}
{{- $namespaces := list -}}
{{- range (lookup $kind "Node" "" "").items -}}
{{- $namespaces = append $namespaces .metadata.namespace -}}
{{- end -}}
{{- $found := $namespaces | uniq | sortAlpha | join ", " -}}
{{- fail (printf "the namespace %s has no Longhorn Node: %s" .Values.longhornNamespace ($found | empty | ternary "wait until longhorn-manager runs on some node" (printf "set longhornNamespace to where they are: %s" $found))) -}}
{{- end -}}
{{- include "extender.refuseSecond" . -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Fails where another release in the cluster has a second scheduler: two of one name would place each
pod twice. A release that nobody leads may stand beside it, as while one moves. */}}
{{- define "extender.refuseSecond" -}}
{{- if and (include "extender.secondScheduler" .) (ne (toString .Values.liveSettings.enabled) "false") -}}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "").items -}}
{{- $of := trimPrefix "longhorn-scheduler-kube-scheduler." .metadata.name -}}
{{- if not (has $of (list .metadata.name $.Release.Namespace)) -}}
{{- fail (printf "the namespace %s has a release with a second scheduler already, and both would place each pod: remove that one first, or move it (docs/upgrade.md#to-a-namespace-of-its-own)" $of) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Fails where a ConfigMap was changed with kubectl. Helm 4, which applies on the server's side, would stop
there half-way. Takes a dict: root, name, and data as it would be. */}}
{{- define "extender.refuseTaken" -}}
{{- if semverCompare ">=4.0.0-0" .root.Capabilities.HelmVersion.Version -}}
{{- $live := lookup "v1" "ConfigMap" .root.Release.Namespace .name -}}
{{- range $entry := ($live.metadata | default dict).managedFields -}}
{{- range $key, $value := $.data -}}
{{- $owned := index ($entry.fieldsV1 | default dict) "f:data" | default dict -}}
{{- if and (hasPrefix "kubectl" $entry.manager) (hasKey $owned (printf "f:%s" $key)) (ne (index $live.data $key) $value) -}}
{{- fail (printf "ConfigMap %s was changed by %s, and Helm does not overwrite that. Delete it, and run this again: kubectl --namespace %s delete configmap %s" $.name $entry.manager $.root.Release.Namespace $.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "extender.replicas" -}}
{{ .Values.replicaCount | default .Values.replicas }}
{{- end }}

{{/* Of all pods, as YAML; empty if there are none. */}}
{{- define "extender.pullSecrets" -}}
{{- with concat .Values.image.pullSecrets .Values.imagePullSecrets -}}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "extender.labels" -}}
{{- range list "app" "app.kubernetes.io/name" }}
{{- if or (hasKey $.Values.commonLabels .) (hasKey $.Values.podLabels .) }}
{{- fail (printf "commonLabels and podLabels cannot have the label %s: it is fixed, since selectors use it" .) }}
{{- end }}
{{- end -}}
app.kubernetes.io/name: {{ include "extender.name" . }}
app: {{ include "extender.name" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "extender.image" -}}
{{- with .Values.image -}}
{{ required "set image.repository: there is no public image. docs/install.md has the two commands that build it and push it to a registry of your own" .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* Whether kube-scheduler calls by plain HTTP: true or empty. */}}
{{- define "extender.isInsecure" -}}
{{- if eq .Values.tls.mode "insecure" -}}
true
{{- end }}
{{- end }}

{{- define "extender.scheme" -}}
{{ include "extender.isInsecure" . | empty | ternary "https" "http" }}
{{- end }}

{{/* The Secret of which the control-plane nodes get copies. */}}
{{- define "extender.kubeSchedulerSecret" -}}
{{ include "extender.name" . }}-kube-scheduler
{{- end }}

{{/* Until when plain HTTP is answered as well: by a release that was open, while those that call it change.
Empty: never. */}}
{{- define "extender.plainUntil" -}}
{{- $format := "2006-01-02T15:04:05Z" -}}
{{- $now := dateInZone $format now "UTC" -}}
{{- $live := dict -}}
{{- with lookup "apps/v1" "Deployment" .Release.Namespace (include "extender.name" .) -}}
{{- range (first .spec.template.spec.containers).env -}}
{{- $_ := set $live .name (.value | default "") -}}
{{- end -}}
{{- end -}}
{{- $wasOpen := and $live (not (hasKey $live "EXTENDER_CLIENT_CA_FILE")) -}}
{{- $given := .Values.tls.plainUntil -}}
{{- if include "extender.isInsecure" . -}}
{{- else if and $wasOpen (eq (include "extender.mode" .) "cluster-scheduler") (le $given $now) -}}
{{- fail (printf "this release answers kube-scheduler by plain HTTP, and would no longer: give kube-scheduler its certificate in the time that you set with tls.plainUntil, such as %s, or set tls.mode to insecure (docs/upgrade.md#to-closed-doors)" (dateInZone $format (now | dateModify "24h") "UTC")) -}}
{{- else if or $given (eq (include "extender.mode" .) "cluster-scheduler") -}}
{{ $given }}
{{- else if $wasOpen -}}
{{ dateInZone $format (now | dateModify "15m") "UTC" }}
{{- else if gt (index $live "EXTENDER_PLAIN_UNTIL" | default "") $now -}}
{{ index $live "EXTENDER_PLAIN_UNTIL" }}
{{- end -}}
{{- end }}

{{/* The name in certificates that kube-scheduler checks. */}}
{{- define "extender.serverName" -}}
{{ include "extender.name" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* How pods call the service. */}}
{{- define "extender.url" -}}
{{ include "extender.scheme" . }}://{{ include "extender.serverName" . }}:{{ .Values.service.port }}
{{- end }}

{{/* How kube-scheduler calls it from the network of the hosts; empty without a fixed address. */}}
{{- define "extender.fixedUrl" -}}
{{- with .Values.service.clusterIP -}}
{{- $host := .ipv4 -}}
{{- if and .ipv6 (not .ipv4) -}}
{{- $host = printf "[%s]" .ipv6 -}}
{{- end -}}
{{- with $host -}}
{{ include "extender.scheme" $ }}://{{ . }}:{{ $.Values.service.port }}
{{- end }}
{{- end }}
{{- end }}

{{- define "extender.serviceAnnotations" -}}
{{- if eq .Values.injection.mode "none" }}
# Pods name the resource themselves: doctor does not miss what would give it to them.
longhorn-scheduler-extender/injection: none
{{- else if eq (include "extender.injection.mode" .) "waiting" }}
# For doctor: it begins once the cluster's kube-scheduler is said to be configured.
longhorn-scheduler-extender/injection: waiting
{{- end }}
{{- with include "extender.keep" . | trim }}
# A kube-scheduler that still calls it is refused at once. An address without a Service would cost it 5 s for
# each pod that asks, and all others wait meanwhile.
{{ . }}
{{- end }}
{{- end }}

{{/* As an annotation: stays when the release is uninstalled. So does what the cluster's own kube-scheduler has
been given by hand, and a release that is installed again must have: an address, and copies of certificates. */}}
{{- define "extender.keep" -}}
{{- if and (include "extender.fixedUrl" .) (eq (include "extender.mode" .) "cluster-scheduler") -}}
helm.sh/resource-policy: keep
{{- end }}
{{- end }}

{{/* Who may reach the port of kube-scheduler, as YAML; empty: everybody. The cluster's own kube-scheduler
calls from the hosts' network, of which nothing is known here. */}}
{{- define "extender.peers" -}}
{{- $isOwn := eq (include "extender.mode" .) "cluster-scheduler" -}}
{{- if or .Values.networkPolicy.from (not $isOwn) -}}
{{- with .Values.networkPolicy.from }}
{{- toYaml . }}
{{ end }}
{{- if include "extender.secondScheduler" . -}}
- podSelector:
    matchLabels:
      app: longhorn-scheduler
{{ end -}}
# The pod of `helm test`.
- podSelector:
    matchLabels:
      app.kubernetes.io/name: {{ include "extender.name" . }}-test
{{- end }}
{{- end }}

{{/* The names of clients that are answered; empty: every name that the CA has signed. */}}
{{- define "extender.clientNames" -}}
{{ .Values.tls.clientNames | default (eq .Values.tls.mode "secret" | ternary list (list "kube-scheduler")) | join "," }}
{{- end }}

{{/* Where clients in pods find the files for TLS. */}}
{{- define "extender.clientFolder" -}}
/etc/longhorn-scheduler-extender
{{- end }}

{{/* The live settings that have a value, as YAML. */}}
{{- define "extender.liveSettings" -}}
{{- $given := dict -}}
{{- range $key, $name := dict
  "scheduler-extender-enabled" "enabled"
  "scheduler-extender-pod-scheduling-timeout" "podSchedulingTimeoutSeconds"
  "scheduler-extender-node-reservation-timeout" "nodeReservationTimeoutSeconds" -}}
{{- $value := index ($.Values.liveSettings | default dict) $name -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $_ := set $given $key (toJson $value) -}}
{{- end -}}
{{- end -}}
{{ toYaml $given }}
{{- end }}

{{/* Settings of the service that have a value in this chart, as variables. Those with the default of
the service are left out. */}}
{{- define "extender.settings" -}}
{{- if ne .Values.reservationMode "capacity" }}
- name: EXTENDER_RESERVATION_MODE
  value: {{ .Values.reservationMode | quote }}
{{- end }}
{{- if ne (toString .Values.balance) "spread" }}
- name: EXTENDER_BALANCE
  {{- /* YAML reads a plain off as false. */}}
  value: {{ .Values.balance | default "off" | quote }}
{{- end }}
{{- if .Values.debug }}
- name: EXTENDER_DEBUG
  value: "true"
{{- end }}
{{- if ne .Values.logLevel "info" }}
- name: EXTENDER_LOG_LEVEL
  value: {{ .Values.logLevel | quote }}
{{- end }}
{{- if include "extender.isInsecure" . }}
# Whoever reaches the port is answered.
- name: EXTENDER_INSECURE
  value: "true"
{{- else }}
- name: EXTENDER_TLS_CERT_FILE
  value: /etc/longhorn-scheduler-extender/tls/tls.crt
- name: EXTENDER_TLS_PRIVATE_KEY_FILE
  value: /etc/longhorn-scheduler-extender/tls/tls.key
- name: EXTENDER_CLIENT_CA_FILE
  value: /etc/longhorn-scheduler-extender/tls/ca.crt
{{- with include "extender.clientNames" . }}
- name: EXTENDER_CLIENT_NAMES
  value: {{ . | quote }}
{{- end }}
{{- with include "extender.plainUntil" . }}
# Until then clients that do not have their certificate yet are answered by plain HTTP.
- name: EXTENDER_PLAIN_UNTIL
  value: {{ . | quote }}
{{- end }}
{{- end }}
# Probes and metrics, in plain HTTP: the kubelet and Prometheus have no certificate.
- name: EXTENDER_METRICS_PORT
  value: "9505"
{{- if not .Values.wakeUp }}
- name: EXTENDER_WAKE_UP
  value: "false"
{{- end }}
{{- with include "extender.startupTaint" . }}
# Its key. It is taken off new nodes once Longhorn tells of their disks.
- name: EXTENDER_STARTUP_TAINT
  value: {{ . }}
{{- end }}
{{- if kindIs "slice" .Values.extraEnv }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- else }}
{{- range $name, $value := .Values.extraEnv }}
- name: {{ $name }}
  {{- /* toJson, since Helm would write a large number as 1e+08. */}}
  value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The key of the taint that is taken off new nodes; empty: none is. Where no policy can limit the right to
patch nodes, it is not given. */}}
{{- define "extender.startupTaint" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version -}}
{{ .Values.startupTaint }}
{{- end -}}
{{- end }}

{{- define "extender.volumeMounts" -}}
{{- if not (include "extender.isInsecure" .) }}
# The whole folder. With a subPath the kubelet would never replace the files.
- name: tls
  mountPath: /etc/longhorn-scheduler-extender/tls
  readOnly: true
{{- end }}
{{- with include "extender.injection.volumeMounts" . | trim }}
{{ . }}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "extender.volumes" -}}
{{- if not (include "extender.isInsecure" .) }}
- name: tls
  secret:
    secretName: {{ .Values.tls.secretName }}
    # The files belong to root, and the process is another user. Only this container has the
    # volume, so no other process sees them.
    defaultMode: 0444
{{- end }}
{{- with include "extender.injection.volumes" . | trim }}
{{ . }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The files with which a pod calls the service over HTTPS. */}}
{{- define "extender.clientVolume" -}}
- name: tls
  secret:
    secretName: {{ .Values.tls.clientSecretName }}
    # The process is not root.
    defaultMode: 0444
{{- end }}

{{- define "extender.clientVolumeMount" -}}
- name: tls
  mountPath: {{ include "extender.clientFolder" . }}
  readOnly: true
{{- end }}

{{/* The names and addresses by which the service is called, as in its certificate. */}}
{{- define "extender.dnsNames" -}}
- {{ include "extender.serverName" . }}
- {{ include "extender.name" . }}.{{ .Release.Namespace }}
- {{ include "extender.serverName" . }}.{{ .Values.clusterDomain }}
{{- end }}

{{- define "extender.ipAddresses" -}}
{{- with .Values.service.clusterIP -}}
{{- with compact (list .ipv4 .ipv6) -}}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "extender.issuer" -}}
{{- $given := .Values.tls.certManager.issuerRef -}}
group: {{ $given.group }}
kind: {{ $given.kind }}
name: {{ $given.name | default (include "extender.name" .) }}
{{- end }}

{{/* Labels of objects for Prometheus and Grafana. Takes a list: the root, and labels of the object. */}}
{{- define "extender.monitoringLabels" -}}
{{- $own := dict "app.kubernetes.io/name" (include "extender.name" (first .)) -}}
{{ merge $own (last .) (first .).Values.commonLabels | toYaml }}
{{- end }}

{{/* The controller of DiskSchedules. */}}
{{- define "extender.controllerName" -}}
longhorn-disk-schedule-controller
{{- end }}

{{- define "extender.controllerLabels" -}}
app.kubernetes.io/name: {{ include "extender.controllerName" . }}
app: {{ include "extender.controllerName" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Labels of the secondary scheduler. */}}
{{- define "extender.schedulerLabels" -}}
app.kubernetes.io/name: longhorn-scheduler
app: longhorn-scheduler
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
