{{/*
A Secret with a certificate that `ca` signs, valid for five years. The one in the cluster is kept if
it is of the same CA, for the same names and not older than `renewAfterDays`; both are noted in its
annotations. Takes a dict of root, ca, secret, commonName, names and addresses.
*/}}
{{- define "extender.signedSecret" -}}
{{- $days := 1825 -}}
{{- $found := lookup "v1" "Secret" .root.Release.Namespace .secret -}}
{{- $data := $found.data | default dict -}}
{{- $notes := ($found.metadata | default dict).annotations | default dict -}}
{{- $for := concat .names .addresses | join "," -}}
{{- $madeOn := index $notes "longhorn-scheduler-extender/made-on" | default "1970-01-01" -}}
{{- $ageSeconds := sub (now | unixEpoch | int64) (toDate "2006-01-02" $madeOn | unixEpoch | int64) -}}
{{- $isKept := and (index $data "tls.crt") (index $data "tls.key")
  (eq (index $data "ca.crt" | default "") (b64enc .ca.Cert))
  (eq (index $notes "longhorn-scheduler-extender/made-for" | default "") $for)
  (lt (div $ageSeconds 86400) (int64 .root.Values.tls.selfSigned.renewAfterDays)) -}}
{{- if not $isKept -}}
{{- $made := genSignedCertWithKey .commonName .addresses .names $days .ca (genPrivateKey "ecdsa") -}}
{{- $madeOn = now | date "2006-01-02" -}}
{{- $data = dict "tls.crt" (b64enc $made.Cert) "tls.key" (b64enc $made.Key) -}}
{{- end -}}
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: {{ .secret }}
  labels:
    {{- include "extender.labels" .root | nindent 4 }}
  annotations:
    longhorn-scheduler-extender/made-on: {{ $madeOn | quote }}
    longhorn-scheduler-extender/made-for: {{ $for | quote }}
data:
  ca.crt: {{ b64enc .ca.Cert }}
  tls.crt: {{ index $data "tls.crt" }}
  tls.key: {{ index $data "tls.key" }}
{{- end }}
