{{/*
The Secrets of the mode selfSigned, as .certificates: `secrets` has the data of each by its name, `notes`
the annotations of the service's. A CA signs the service's certificate and those of its clients, and its
key is thrown away. So new certificates have a new CA, and nobody may see them before he trusts it:

1. An upgrade adds the new CA to all `ca.crt`, and keeps the new pairs as `next.crt` and `next.key`.
2. A later one puts them to use. Whoever has copies by hand says first that these are new.
3. The first one after a day takes the old CA out.

What an upgrade decides follows from what the cluster has. Without a cluster to ask all is new each time.
*/}}
{{- define "extender.certificates" -}}
{{- if not (hasKey . "certificates") -}}
{{- $service := .Values.tls.secretName -}}
{{- $copied := include "extender.kubeSchedulerSecret" . -}}
{{- $names := dict $service (include "extender.name" .) .Values.tls.clientSecretName "kube-scheduler" $copied "kube-scheduler" -}}
{{- $secrets := dict -}}
{{- $isWhole := true -}}
{{- range $secret, $_ := $names -}}
{{- $data := (lookup "v1" "Secret" $.Release.Namespace $secret).data | default dict | deepCopy -}}
{{- $_ := set $secrets $secret $data -}}
{{- if ne $secret $copied -}}
{{- $isWhole = and $isWhole (index $data "tls.crt") (index $data "tls.key") -}}
{{- end -}}
{{- end -}}
{{- $served := index $secrets $service -}}
{{- $cas := regexFindAll "-----BEGIN[^-]+-----[^-]+-----END[^-]+-----\n" (index $served "ca.crt" | default "" | b64dec) -1 -}}
{{- $notes := ((lookup "v1" "Secret" .Release.Namespace $service).metadata).annotations | default dict -}}
{{- $prefix := printf "%s/" (include "extender.name" .) -}}
{{- $changedAt := index $notes (print $prefix "changed-at") | default (dateInZone "2006-01-02T15:04:05Z" (toDate "2006-01-02" (index $notes (print $prefix "made-on") | default "1970-01-01")) "UTC") -}}
{{- $age := sub (now | unixEpoch | int64) (toDate "2006-01-02T15:04:05Z" $changedAt | unixEpoch | int64) -}}
{{- $dnsNames := include "extender.dnsNames" . | fromYamlArray -}}
{{- $addresses := include "extender.ipAddresses" . | fromYamlArray -}}
{{- $for := concat $dnsNames $addresses | join "," -}}
{{- $isFor := and (eq $for (index $notes (print $prefix "made-for") | default "")) (index $secrets $copied "tls.crt") -}}
{{- $isStaged := hasKey $served "next.crt" -}}
{{- $isTrusted := eq (include "extender.mode" .) "cluster-scheduler" | ternary (eq .Values.tls.selfSigned.copied $changedAt) (gt $age 600) -}}
{{- $day := 86400 -}}
{{- $isChanged := true -}}
{{- if not (and $isWhole $cas $isFor (or $isStaged (lt $age (mul $day (int64 .Values.tls.selfSigned.renewAfterDays))))) -}}
{{- $days := 1825 -}}
{{- $ca := genCAWithKey (printf "%s-ca" (include "extender.name" .)) (add1 $days | int) (genPrivateKey "ecdsa") -}}
{{- $isFirst := not (and $isWhole $cas) -}}
{{- /* The pairs in use are of the first CA while others are staged, else of the last. */ -}}
{{- $cas = $isFirst | ternary (list $ca.Cert) (list ($isStaged | ternary (first $cas) (last $cas)) $ca.Cert) -}}
{{- range $secret, $commonName := $names -}}
{{- $isServer := eq $secret $service -}}
{{- $made := genSignedCertWithKey $commonName ($isServer | ternary $addresses list) ($isServer | ternary $dnsNames list) $days $ca (genPrivateKey "ecdsa") -}}
{{- /* What is copied is copied together with the new ca.crt, and the service trusts both. */ -}}
{{- $as := or $isFirst (eq $secret $copied) | ternary "tls" "next" -}}
{{- $_ := set (index $secrets $secret) (print $as ".crt") (b64enc $made.Cert) -}}
{{- $_ := set (index $secrets $secret) (print $as ".key") (b64enc $made.Key) -}}
{{- if $isFirst -}}
{{- $_ := set $secrets $secret (omit (index $secrets $secret) "next.crt" "next.key") -}}
{{- end -}}
{{- end -}}
{{- else if and $isStaged $isTrusted -}}
{{- range $secret, $data := $secrets -}}
{{- if hasKey $data "next.crt" -}}
{{- $_ := set $secrets $secret (dict "tls.crt" (index $data "next.crt") "tls.key" (index $data "next.key")) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $isChanged = false -}}
{{- if and (not $isStaged) (gt $age $day) -}}
{{- $cas = list (last $cas) -}}
{{- end -}}
{{- end -}}
{{- range $secret, $data := $secrets -}}
{{- $_ := set $data "ca.crt" (join "" $cas | b64enc) -}}
{{- end -}}
{{- $changedAt = $isChanged | ternary (dateInZone "2006-01-02T15:04:05Z" now "UTC") $changedAt -}}
{{- $_ := set . "certificates" (dict
  "secrets" $secrets
  "notes" (dict (print $prefix "changed-at") $changedAt (print $prefix "made-for") $for)
  "copy" (and (hasKey (index $secrets $service) "next.crt") (eq (include "extender.mode" .) "cluster-scheduler") | ternary $changedAt "")
) -}}
{{- end -}}
{{- end }}
