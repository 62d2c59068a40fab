#!/bin/sh
# GEN3D_API_KEY=… examples/curl.sh photo.jpg model.glb
# Photo to model with curl and nothing else: what a client in any language does.
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
if [ ! -f "$photo" ] || [ ! -r "$photo" ]; then fail "$photo is no file that can be read"; fi
[ -n "${GEN3D_API_KEY:-}" ] || fail 'There is no API key: set GEN3D_API_KEY'
server=${GEN3D_BASE_URL:-http://127.0.0.1:8787}

# --retry waits and tries again after 429 and 5xx; --fail-with-body ends for the rest, with the server's words on stdout.
call() {
  curl --silent --show-error --fail-with-body --retry 5 --header "Authorization: Bearer $GEN3D_API_KEY" "$@"
}
# Enough for answers that hold a name once; a real client parses JSON.
field() {
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

case $photo in
  *.png) type=image/png ;;
  *.webp) type=image/webp ;;
  *) type=image/jpeg ;;
esac
# The key makes the retries safe: however often the request arrives, there is one job.
key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
answer=$({
  printf '{"type":"image-to-3d","idempotency_key":"%s","input":{"image_urls":["data:%s;base64,' "$key" "$type"
  base64 <"$photo" | tr -d '\n'
  printf '"]}}'
} | call --header 'Content-Type: application/json' --data-binary @- "$server/v1/jobs") ||
  fail "No job was made at $server. $answer"
job=$(printf '%s' "$answer" | field job_id)
# Without an id, the address below would be that of the list of all jobs.
[ -n "$job" ] || fail "$server is no gen3d server: it answered $answer"
echo "job $job" >&2

while :; do
  task=$(call "$server/v1/jobs/$job") || fail "Job $job could not be looked at. $task"
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
