#!/usr/bin/env bash
# Trains on a machine that is lent for half an hour, has a GPU, many cores and no network, and runs one command of at
# most ten minutes at a time. README.md, "Thirty minutes of a GPU", says which calls to make.
#
#   rented-gpu.sh prepare MESHES [WEIGHTS]    # here: lays out .rented/ in the project's root, and narrows the checkout
#   rented-gpu.sh render                      # there: starts renderers on all cores, which continue between the calls
#   rented-gpu.sh train MINUTES [options]     # there: starts the training, which continues between the calls
#   rented-gpu.sh wait SECONDS                # there: hands the newest weights back in $OUT, whenever they are saved
#
# The meshes travel with the call that renders and the weights with the one that trains: together, they are larger than
# what one call may carry.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
state=${STATE:-/tmp/gen3d-rented} # kept between the calls
preset=${PRESET:-wide}
python=${PYTHON:-python3}
cores=${CORES:-$(nproc)}
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

prepare() {
  local root
  root=$(git -C "$here" rev-parse --show-toplevel) && cd "$root" || exit 1
  [ -z "$(git status --porcelain)" ] || { echo "Commit your changes first: what is not committed travels too." >&2; exit 1; }
  rm -rf .rented && mkdir -p .rented/code
  cp "$here"/*.py "$here"/*.cpp .rented/code/ && cp "$here/rented-gpu.sh" .rented/
  cp -r "$1" .rented/meshes
  [ -z "${2:-}" ] || cp "$2" .rented/weights.pt
  git sparse-checkout set --no-cone /.gitignore /README.md
  echo "Carry these, in MB, at most 67 in one call; undo with git sparse-checkout disable:"
  du -sm .rented/*
}

render() {
  local common=("$python" generate.py --preset "$preset" --packed "$state/meshes" --meshes "$state/volumes" --each 3)
  local unseen=(--samples "${UNSEEN_SAMPLES:-240}" --shards 1) i
  ! command -v nvidia-smi >/dev/null || nvidia-smi -L
  mkdir -p "$state/data" "$state/unseen-meshes" "$state/unseen-shapes" && cp -r "$here/code" "$here/meshes" "$state/"
  cd "$state/code" || exit 1
  # Fails before the renderers start, if there is no compiler.
  "$python" -c "from compiled import library; library('photograph'); library('voxelize')" || exit 1
  date +%s >"$state/started"
  setsid "${common[@]}" "$state/unseen-meshes" --first 1 "${unseen[@]}" --sources unseen --share 1 >"$state/renderer-meshes.log" 2>&1 </dev/null &
  setsid "${common[@]}" "$state/unseen-shapes" --first 2 "${unseen[@]}" --share 0 >"$state/renderer-shapes.log" 2>&1 </dev/null &
  for ((i = 1; i < (cores > 2 ? cores : 2); i++)); do
    # The training goes first where they compete.
    setsid nice -n 5 "${common[@]}" "$state/data" --first $((i * 100000)) --shards 99999 --samples "${SAMPLES:-64}" \
      --share 0.65 --straight 0.2 >"$state/renderer-$i.log" 2>&1 </dev/null &
    echo $! >>"$state/renderers"
  done
}

train() {
  local end compile left
  end=$(awk -v n="$(date +%s)" -v m="$1" 'BEGIN { print int(n + 60 * m) }')
  shift
  cd "$state/code" || exit 1
  # If the training fails, it continues from the last save, without what is most likely to fail on another machine.
  for compile in --compile --no-compile --no-compile; do
    left=$(awk -v e="$end" -v n="$(date +%s)" 'BEGIN { printf "%.2f", (e - n) / 60 }')
    "$python" train.py "$state/run" --preset "$preset" --data "$state/data" --resident "${RESIDENT:-60000}" \
      --minutes "$left" --every "${EVERY:-2}" --unseen "$state/unseen-meshes" "$state/unseen-shapes" \
      --finish "$compile" "$@" && break
    [ "$(date +%s)" -lt $((end - 60)) ] || break
  done
  xargs kill <"$state/renderers" 2>/dev/null
  touch "$state/finished"
}

hand_back() {
  cp "$state/log" "$OUT/log.txt"
  [ -f "$state/run/weights.pt" ] || return 0
  [ ! "$OUT/weights.sha256" -nt "$state/run/weights.pt" ] || return 0
  rm -rf "$state/parts" && mkdir "$state/parts"
  cp "$state/run/weights.pt" "$state/weights.pt" # train.py replaces the file while it is read
  split -b 15500000 "$state/weights.pt" "$state/parts/weights.pt.part-"
  (cd "$state" && sha256sum weights.pt) >"$state/parts/weights.sha256"
  rm -f "$OUT"/weights.* && cp "$state/parts"/* "$OUT/"
}

report() {
  local seconds samples
  seconds=$(($(date +%s) - $(cat "$state/started")))
  samples=$(sed -n 's/^saved.* \([0-9]*\) samples.*/\1/p' "$state/log" | tail -n 1)
  awk -v s="${samples:-0}" -v t="$seconds" 'BEGIN { printf "%d samples in %d s: %.1f per second\n", s, t, s / t }'
  grep -E '^unseen|^saved|Error|error' "$state/log" | tail -n 8
  cat "$state"/renderer-*.log | grep Error | sort | uniq -c | head -n 3
  grep " min {" "$state/log" | tail -n 1
  echo "Join with: cat weights.pt.part-* > weights.pt && sha256sum -c weights.sha256"
}

case "${1:-}" in
  prepare) prepare "${@:2}" ;;
  render) render ;;
  train)
    rm -f "$state/finished" && mkdir -p "$state/run"
    [ ! -f "$here/weights.pt" ] || cp "$here/weights.pt" "$state/run/weights.pt"
    # The script is copied, because the next call replaces the working tree.
    cp "$here/rented-gpu.sh" "$state/"
    setsid bash "$state/rented-gpu.sh" work "${@:2}" >"$state/log" 2>&1 </dev/null &
    ;;
  work) train "${@:2}" ;;
  wait)
    until=$(($(date +%s) + $2))
    while [ "$(date +%s)" -lt "$until" ] && [ ! -f "$state/finished" ]; do
      sleep 2
      hand_back
    done
    hand_back
    report
    ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
