#!/bin/sh
# Write the Secrets with the certificates of the service and of its clients, good for five years:
#
#   manifests/certificates.sh [ADDRESS...] | kubectl apply --filename -
#
# ADDRESS is one of the Service, for clients that do not check its name. A CA signs these certificates
# alone, and its key is thrown away. docs/tls.md says how to renew them.
set -eu

namespace="${NAMESPACE:-longhorn-scheduler}"
name=longhorn-scheduler-extender
days=1825
names="DNS:$name.$namespace.svc,DNS:$name.$namespace,DNS:$name.$namespace.svc.cluster.local"
for address; do
    names="$names,IP:$address"
done

umask 077
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cat >"$folder/openssl.cnf" <<CONFIG
[req]
distinguished_name = none
[none]
[ca]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign
[server]
basicConstraints = critical,CA:false
extendedKeyUsage = serverAuth
subjectAltName = $names
[client]
basicConstraints = critical,CA:false
extendedKeyUsage = clientAuth
CONFIG

# Takes the section above, the common name, the name of the files, and options.
make_certificate() {
    section="$1" common_name="$2" file="$folder/$3"
    shift 3
    openssl req -x509 -config "$folder/openssl.cnf" -extensions "$section" -days "$days" \
        -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$common_name" \
        -keyout "$file.key" -out "$file.crt" "$@" 2>"$folder/log" || {
        cat "$folder/log" >&2
        exit 1
    }
}

# Takes the section, the common name, and the name of the Secret.
write_secret() {
    make_certificate "$1" "$2" tls -CA "$folder/ca.crt" -CAkey "$folder/ca.key"
    cat <<SECRET
---
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: $3
  namespace: $namespace
  labels:
    app.kubernetes.io/name: $name
    app: $name
data:
  ca.crt: $(base64 <"$folder/ca.crt" | tr -d '\n')
  tls.crt: $(base64 <"$folder/tls.crt" | tr -d '\n')
  tls.key: $(base64 <"$folder/tls.key" | tr -d '\n')
SECRET
}

make_certificate ca "$name-ca" ca
write_secret server "$name" "$name-tls"
write_secret client kube-scheduler "$name-client"
write_secret client kube-scheduler "$name-kube-scheduler"
