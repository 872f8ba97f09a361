{{/*
The order in which an installation begins and ends. No pod is to be left that nobody schedules: new pods
are injected after a pod has got its node through the extender, and are injected no longer before
anything is taken away. Helm runs these Jobs; Argo CD takes them as its own hooks.
*/}}
{{- define "extender.release.name" -}}
{{ include "extender.name" . }}-release
{{- end }}

{{/* Whether new pods are to be injected now. While nobody leads, or the second scheduler is told not to
ask, the Job could prove nothing: true or empty. */}}
{{- define "extender.release.begins" -}}
{{- $isOn := not (eq (toString .Values.liveSettings.enabled) "false") -}}
{{- if and $isOn .Values.secondaryScheduler.ask (has (include "extender.injection.mode" .) (list "policy" "webhook")) -}}
true
{{- end }}
{{- end }}

{{- define "extender.release.scheduler" -}}
{{ .Values.secondaryScheduler.schedulerName | default "longhorn-scheduler" }}
{{- end }}

{{/* A Job that is a hook. Takes a dict: root, action (of the command `release`), hooks, arguments, and
isSent: whether its pod itself goes through the extender. */}}
{{- define "extender.release.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "extender.name" .root }}-{{ .action }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "extender.release.labels" .root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .hooks }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    # From Helm 4 on it prints what the Job says.
    helm.sh/hook-output-log-policy: hook-succeeded,hook-failed
spec:
  backoffLimit: 2
  # Helm deletes one that has succeeded; one that has failed can be looked at for so long.
  ttlSecondsAfterFinished: 3600
  # As long as Helm waits by default.
  activeDeadlineSeconds: 300
  template:
    metadata:
      labels:
        {{- include "extender.release.labels" .root | nindent 8 }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ include "extender.release.name" .root }}
      automountServiceAccountToken: true
      enableServiceLinks: false
      {{- if .isSent }}
      {{- with include "extender.injection.schedulerName" .root }}
      schedulerName: {{ . }}
      {{- end }}
      {{- end }}
      {{- with include "extender.pullSecrets" .root }}
      imagePullSecrets:
        {{- . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml .root.Values.podSecurityContext | nindent 8 }}
      {{- with .root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .action }}
          image: {{ include "extender.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: {{ concat (list (include "extender.name" .root) "release" .action) .arguments | toJson }}
          env:
            - name: EXTENDER_NAMESPACE
              value: {{ .root.Release.Namespace }}
          {{- if .isSent }}
          resources:
            limits:
              {{ include "extender.injection.resource" .root }}: "1"
          {{- end }}
          securityContext:
            {{- toYaml .root.Values.securityContext | nindent 12 }}
{{- end }}

{{/* Of what the Jobs may do: it is there while one runs. */}}
{{- define "extender.release.hookMetadata" -}}
labels:
  {{- include "extender.release.labels" . | nindent 2 }}
annotations:
  helm.sh/hook: post-install,pre-upgrade,post-upgrade,pre-rollback,post-rollback,pre-delete
  helm.sh/hook-weight: "-1"
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{/* Not the labels of the instances: nothing may take these pods for one. */}}
{{- define "extender.release.labels" -}}
app.kubernetes.io/name: {{ include "extender.release.name" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
