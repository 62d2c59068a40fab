#!/bin/sh
# GEN3D_API_KEY=… examples/curl.sh photo.jpg model.glb
# Turns a photo into a model with curl, as a client in any language would.
set -eu

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

if [ $# -ne 2 ]; then
  echo 'Usage: examples/curl.sh PHOTO MODEL.glb' >&2
  exit 2
fi
photo=$1
model=$2
if [ ! -f "$photo" ] || [ ! -r "$photo" ]; then fail "$photo is not a readable file"; fi
[ -n "${GEN3D_API_KEY:-}" ] || fail 'The API key is missing. Set GEN3D_API_KEY'
server=${GEN3D_BASE_URL:-http://127.0.0.1:8787}

# --retry retries after a 429 or 5xx. --fail-with-body fails for other errors and prints the response.
call() {
  curl --silent --show-error --fail-with-body --retry 5 --header "Authorization: Bearer $GEN3D_API_KEY" "$@"
}
# Sufficient for responses in which the name occurs once. A real client parses JSON.
field() {
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

case $photo in
  *.png) type=image/png ;;
  *.webp) type=image/webp ;;
  *) type=image/jpeg ;;
esac
# The idempotency key makes retries safe: repeated requests create one job.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
response=$({
  printf '{"type":"image-to-3d","idempotency_key":"%s","input":{"image_urls":["data:%s;base64,' "$key" "$type"
  base64 <"$photo" | tr -d '\n'
  printf '"]}}'
} | call --header 'Content-Type: application/json' --data-binary @- "$server/v1/jobs") ||
  fail "Could not create a job at $server. $response"
job=$(printf '%s' "$response" | field job_id)
# Without an id, the URL below would be that of the list of jobs.
[ -n "$job" ] || fail "$server is not a gen3d server. It responded: $response"
echo "job $job" >&2

while :; do
  task=$(call "$server/v1/jobs/$job") || fail "Could not retrieve job $job. $task"
  status=$(printf '%s' "$task" | field status)
  echo "$status" >&2
  case $status in
    SUCCEEDED) break ;;
    FAILED | CANCELED) printf '%s\n' "$task" >&2; exit 1 ;;
  esac
  sleep 2
done
curl --silent --show-error --fail --output "$model" "$(printf '%s' "$task" | field glb)"
echo "$model"
