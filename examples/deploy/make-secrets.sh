#!/bin/sh
# Generates the secrets of this setup in ./secrets, readable only by you. Existing secrets are kept.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
cd secrets

# Letters and digits only, because they are used in URLs and JSON.
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
# You edit this copy. It is a secret too, because URLs of providers contain keys.
keep backend.yaml <../backend.yaml

# Containers run as your user, so that they can read the secrets.
printf 'GDN_UID=%s\nGDN_GID=%s\n' "$(id -u)" "$(id -g)" >../.env
echo "The secrets are in $(pwd)."
