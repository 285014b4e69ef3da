#!/usr/bin/env bash
# Usage: secrets.sh FOLDER NAME...
# Makes what a nats-server of your own needs: an authority (ca.crt, ca.key), a certificate for the names (tls.crt,
# tls.key) and a token (broker.env). Files that are there stay. A certificate holds for a year.
set -euo pipefail
umask 077
usage='usage: secrets.sh FOLDER NAME...'
folder=${1:?$usage}
shift
[ "$#" -gt 0 ] || {
  echo "$usage" >&2
  exit 2
}
mkdir -p "$folder"
cd "$folder"

names=()
for name in "$@"; do
  case $name in
    *[!0-9.]*) names+=("DNS:$name") ;;
    *) names+=("IP:$name") ;;
  esac
done
if [ ! -e ca.crt ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj '/CN=authority of runs' -keyout ca.key -out ca.crt 2>/dev/null
fi
if [ ! -e tls.crt ]; then
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -subj "/CN=$1" -keyout tls.key -out tls.csr 2>/dev/null
  # Verifiers look at these names alone, not at the common name.
  (IFS=,; echo "subjectAltName=${names[*]}") >tls.ext
  openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 \
    -extfile tls.ext -out tls.crt 2>/dev/null
  rm -f tls.csr tls.ext ca.srl
fi
# A letter comes first: the server reads a value of digits as a number.
[ -e broker.env ] || echo "NATS_TOKEN=t$(openssl rand -hex 24)" >broker.env
