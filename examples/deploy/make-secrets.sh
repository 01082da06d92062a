#!/bin/sh
# Makes the secrets of this set-up in ./secrets, at random, for who calls it; what is there already is kept.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
cd secrets

# Letters and digits only: they stand in URLs and in JSON.
random() { od -An -tx1 -N24 /dev/urandom | tr -d ' \n'; }
keep() { if [ -e "$1" ]; then cat >/dev/null; else cat >"$1.new" && mv "$1.new" "$1"; fi; }

random | keep postgres-password
printf 'postgres://gdn:%s@postgres/gdn?sslmode=disable\n' "$(cat postgres-password)" | keep database-url
random | keep grafana-password
random | keep s3-secret-key
keep aws-credentials <<END
[default]
aws_access_key_id = gdn
aws_secret_access_key = $(cat s3-secret-key)
END
keep s3.json <<END
{
  "identities": [
    {
      "name": "gdn",
      "credentials": [{ "accessKey": "gdn", "secretKey": "$(cat s3-secret-key)" }],
      "actions": ["Read:gdn", "Write:gdn", "List:gdn"]
    }
  ]
}
END
# Yours to edit from here on: URLs of providers hold keys, so it is a secret too.
keep backend.yaml <../backend.yaml

# Containers run as you: they may read what you may.
printf 'GDN_UID=%s\nGDN_GID=%s\n' "$(id -u)" "$(id -g)" >../.env
echo "The secrets are in $(pwd)."
