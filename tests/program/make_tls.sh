#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `assay make` with a server whose certificate no authority of the system vouches for: what is said, and the ways out.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
# shellcheck source=tests/support/expect.sh
. "$source/tests/support/expect.sh"
unset SSL_CERT_FILE CURL_CA_BUNDLE
mkdir "$work/replies" "$work/log"
echo "A loop." >"$work/replies/last"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/key" -out "$work/certificate" 2>"$work/openssl" || { cat "$work/openssl"; exit 1; }
cat "$work/key" "$work/certificate" >"$work/both"
python3 "$source/tests/program/make_server.py" "$work/replies" "$work/log" "$work/both" 2>"$work/server" & server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 200); do [ -e "$work/log/port" ] && break; sleep 0.05; done
port=$(cat "$work/log/port")
ask() { # ask HOST RUN
  "$assay" make kernelbench/1/19 --device cpu --no-timing --workload "M=16, N=32" --no-final --method greedy \
    --endpoint "https://$1:$port/v1" --model m --run "$2"
}
expect 3 "no authority that is known here vouches for the server's certificate; name a file of certificates in SSL_CERT_FILE" ask 127.0.0.1 unknown
expect 3 "SSL_CERT_FILE \(or CURL_CA_BUNDLE\) names no file of certificates: $work/none" env SSL_CERT_FILE="$work/none" bash -c "$(declare -f ask); assay='$assay' port=$port; ask 127.0.0.1 none"
export SSL_CERT_FILE=$work/certificate
expect 3 "or write the name that the certificate is for" ask localhost another
expect 1 "1 asked now" ask 127.0.0.1 known
unset SSL_CERT_FILE
export CURL_CA_BUNDLE=$work/certificate
expect 1 "1 asked now" ask 127.0.0.1 bundle
report
