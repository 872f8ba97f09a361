{{/* One release serves one Longhorn, so the names of its objects are fixed. */}}
{{- define "extender.name" -}}
longhorn-scheduler-extender
{{- end }}

{{- define "extender.labels" -}}
app.kubernetes.io/name: {{ include "extender.name" . }}
app: {{ include "extender.name" . }}
{{- end }}
