{{/* The version in which the cluster serves MutatingAdmissionPolicy; empty if it does not. */}}
{{- define "extender.injection.policyVersion" -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- if .Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group) -}}
{{ $group }}/v1
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) -}}
{{ $group }}/v1beta1
{{- end }}
{{- end }}

{{/* How pods get the resource: policy, webhook or none. With auto it is none only where no kube-scheduler
can call the service, and waiting while the cluster's own is not said to be configured: the pods would
stay pending. */}}
{{- define "extender.injection.mode" -}}
{{- $mode := .Values.injection.mode -}}
{{- $version := include "extender.injection.policyVersion" . -}}
{{- if and (eq $mode "policy") (not $version) -}}
{{- fail "injection.mode is policy, but the cluster serves no MutatingAdmissionPolicy (Kubernetes 1.36, or 1.34 with the API admissionregistration.k8s.io/v1beta1 turned on). Set injection.mode to webhook. For `helm template`, name the API with --api-versions admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
{{- else if eq $mode "auto" -}}
{{- if not (include "extender.schedulerCanCall" .) -}}
none
{{- else if not (or .Values.kubeSchedulerConfigured (include "extender.secondScheduler" .)) -}}
waiting
{{- else -}}
{{ empty $version | ternary "webhook" "policy" }}
{{- end }}
{{- else -}}
{{ $mode }}
{{- end }}
{{- end }}

{{/* The command that ends the waiting. */}}
{{- define "extender.injection.begin" -}}
helm upgrade {{ .Release.Name }} CHART --namespace {{ .Release.Namespace }} --reset-then-reuse-values --set kubeSchedulerConfigured=true
{{- end }}

{{- define "extender.injection.resource" -}}
longhorn.io/scheduler-extender
{{- end }}

{{- define "extender.injection.name" -}}
{{ include "extender.clusterWide" (list . (printf "%s-injection" (include "extender.name" .))) }}
{{- end }}

{{- define "extender.injection.webhookName" -}}
{{ include "extender.name" . }}-webhook
{{- end }}

{{/* The schedulerName that pods get; empty if the cluster's own kube-scheduler asks the extender. */}}
{{- define "extender.injection.schedulerName" -}}
{{- if include "extender.secondScheduler" . -}}
{{ (.Values.secondaryScheduler).schedulerName | default "longhorn-scheduler" }}
{{- end }}
{{- end }}

{{/* Namespaces whose pods are left alone, as YAML. */}}
{{- define "extender.injection.excluded" -}}
{{ concat (list "kube-system" .Release.Namespace .Values.longhornNamespace) .Values.injection.excludedNamespaces | uniq | toYaml }}
{{- end }}

{{/* Which pods are looked at: those of other namespaces, without the label that says no. */}}
{{- define "extender.injection.selectors" -}}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
        {{- include "extender.injection.excluded" . | nindent 8 }}
    - key: longhorn-scheduler-extender/injection
      operator: NotIn
      values: [disabled]
objectSelector:
  matchExpressions:
    - key: longhorn-scheduler-extender/injection
      operator: NotIn
      values: [disabled]
{{- end }}

{{/* Written with `has` alone: in 1.28, conditions of webhooks cannot ask for optional fields. */}}
{{- define "extender.injection.usesClaims" -}}
- name: uses-claims
  expression: >-
    has(object.spec.volumes) &&
    object.spec.volumes.exists(v, has(v.persistentVolumeClaim) || has(v.ephemeral))
{{- end }}

{{/* What the pods of the service need for the webhook; nothing in any other mode. */}}
{{- define "extender.injection.env" -}}
{{- if eq (include "extender.injection.mode" .) "webhook" -}}
- name: EXTENDER_WEBHOOK_PORT
  value: "9506"
- name: EXTENDER_WEBHOOK_CERT_FILE
  value: /etc/longhorn-scheduler-extender/webhook/tls.crt
- name: EXTENDER_WEBHOOK_PRIVATE_KEY_FILE
  value: /etc/longhorn-scheduler-extender/webhook/tls.key
{{- if .Values.injection.webhook.clientCASecretName }}
- name: EXTENDER_WEBHOOK_CLIENT_CA_FILE
  value: /etc/longhorn-scheduler-extender/webhook-clients/ca.crt
{{- end }}
{{- with include "extender.injection.schedulerName" . }}
- name: EXTENDER_WEBHOOK_SCHEDULER_NAME
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "extender.injection.ports" -}}
{{- if eq (include "extender.injection.mode" .) "webhook" -}}
- name: webhook
  containerPort: 9506
  protocol: TCP
{{- end }}
{{- end }}

{{- define "extender.injection.volumeMounts" -}}
{{- if eq (include "extender.injection.mode" .) "webhook" -}}
# The whole folder. With a subPath the kubelet would never replace the files.
- name: webhook
  mountPath: /etc/longhorn-scheduler-extender/webhook
  readOnly: true
{{- if .Values.injection.webhook.clientCASecretName }}
- name: webhook-clients
  mountPath: /etc/longhorn-scheduler-extender/webhook-clients
  readOnly: true
{{- end }}
{{- end }}
{{- end }}

{{- define "extender.injection.volumes" -}}
{{- if eq (include "extender.injection.mode" .) "webhook" -}}
- name: webhook
  secret:
    secretName: {{ include "extender.injection.webhookName" . }}
    # The files belong to root, and the process is another user. Only this container has the
    # volume, so no other process sees them.
    defaultMode: 0444
{{- with .Values.injection.webhook.clientCASecretName }}
- name: webhook-clients
  secret:
    secretName: {{ . }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- end }}
{{- end }}

{{/* Of the container. */}}
{{- define "extender.injection.lifecycle" -}}
{{- if eq (include "extender.injection.mode" .) "webhook" -}}
# The Service still leads here for a moment when the pod is told to end. A pod that is created while
# no webhook answers does not get the resource.
preStop:
  exec:
    command: [sleep, "3"]
{{- end }}
{{- end }}
