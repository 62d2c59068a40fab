#!/usr/bin/env bash
# Trains on a machine that is lent for half an hour, has a GPU, many cores and no network, and runs one command of at
# most ten minutes at a time. README.md, "Thirty minutes of a GPU", says what to do before and after.
#
#   rented-gpu.sh --size     # here: what would travel, in MB
#   rented-gpu.sh            # there: starts everything, or looks after what an earlier call has started
#
# The first call starts a session of its own, which renders samples on all cores while it trains, so that the training
# continues between calls and if a call is killed. Each call hands back the latest weights as files in $OUT.
set -euo pipefail
cd "$(dirname "$0")"

carried=${CARRIED:-$(git rev-parse --show-toplevel 2>/dev/null || echo ../../..)/.rented} # weights.pt, and meshes/ of pack.py
state=${STATE:-/tmp/gen3d-rented}  # kept between the calls
minutes=${MINUTES:-24.5}           # from the first call to the end of the training
call=${CALL_SECONDS:-540}          # until this call returns
preset=${PRESET:-gpu}
resident=${RESIDENT:-150000}       # samples of 0.57 MB on the GPU: 86 of its 141 GB
renderers=${RENDERERS:-$(($(nproc) > 2 ? $(nproc) - 1 : 1))}
options=${OPTIONS:-}               # more options of train.py
python=${PYTHON:-python3}
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

size() {
  local root tracked other
  root=$(git rev-parse --show-toplevel)
  # Files outside the sparse checkout (S) are not in the working tree.
  tracked=$(cd "$root" && git ls-files -t -z | sed -z '/^S /d; s/^. //' | du -cb --files0-from=- | tail -1 | cut -f1)
  other=$(cd "$root" && git ls-files -o --exclude-standard -z | du -cb --files0-from=- 2>/dev/null | tail -1 | cut -f1)
  local meshes=0 weights=0
  [ ! -d "$carried/meshes" ] || meshes=$(du -cb "$carried"/meshes/*.xz | tail -1 | cut -f1)
  [ ! -f "$carried/weights.pt" ] || weights=$(stat -c %s "$carried/weights.pt")
  awk -v t="$tracked" -v o="${other:-0}" -v m="$meshes" -v w="$weights" 'BEGIN {
    printf "tracked %.1f MB, untracked %.1f MB, meshes %.1f MB, weights %.1f MB\n", t / 1e6, o / 1e6, m / 1e6, w / 1e6
    all = t + o + m + w
    printf "%.1f MB of 67.1 MB (64 MiB) would travel%s\n", all / 1e6, (all > 64 * 2 ^ 20) ? ": too much" : ""
    exit (all > 64 * 2 ^ 20)
  }'
}

check() {
  "$python" - <<'EOF'
import importlib.util, os, shutil, sys
missing = [m for m in ("torch", "numpy", "scipy", "PIL") if not importlib.util.find_spec(m)]
missing += [] if shutil.which(os.environ.get("CXX", "g++")) else ["g++ (or CXX)"]
if missing:
    sys.exit(f"Missing: {', '.join(missing)}. Packages can travel as wheels, but torch with CUDA is larger than 64 MB.")
import torch
memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
disk = shutil.disk_usage("/tmp").free / 1e9
print(f"torch {torch.__version__}, {os.cpu_count()} cores, {memory:.0f} GB of memory, {disk:.0f} GB of disk free")
if torch.cuda.is_available():
    free, whole = torch.cuda.mem_get_info()
    print(f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, {free / 1e9:.0f} of {whole / 1e9:.0f} GB free")
elif not os.environ.get("WITHOUT_GPU"):
    sys.exit("torch does not find a GPU. To try everything without one: WITHOUT_GPU=1 PRESET=tiny")
EOF
}

# What the first call starts: samples for measuring, renderers, and the training.
work() {
  local common=("$python" generate.py --preset "$preset" --packed "$carried/meshes" --meshes "$state/volumes" --each 3)
  local unseen=(--samples "${UNSEEN_SAMPLES:-240}" --shards 1) i end remaining compile
  mkdir -p "$state/data" "$state/unseen-meshes" "$state/unseen-shapes"
  "${common[@]}" "$state/unseen-meshes" --first 1 "${unseen[@]}" --sources unseen --share 1 >"$state/renderer-meshes.log" 2>&1 &
  "${common[@]}" "$state/unseen-shapes" --first 2 "${unseen[@]}" --share 0 >"$state/renderer-shapes.log" 2>&1 &
  for ((i = 1; i <= renderers; i++)); do
    # The training goes first where they compete.
    nice -n 5 "${common[@]}" "$state/data" --first $((i * 100000)) --shards 99999 --samples "${SAMPLES:-64}" \
      --share 0.65 --straight 0.2 >"$state/renderer-$i.log" 2>&1 &
  done
  trap 'kill $(jobs -p) 2>/dev/null || true; touch "$state/finished"' EXIT
  end=$(awk -v a="$(cat "$state/started")" -v m="$minutes" 'BEGIN { print int(a + 60 * m) }')
  # If the training fails, it continues from the last save, without what is most likely to fail on another machine.
  for compile in --compile --no-compile --no-compile; do
    remaining=$(awk -v e="$end" -v n="$(date +%s)" 'BEGIN { printf "%.2f", (e - n) / 60 }')
    # shellcheck disable=SC2086
    "$python" train.py "$state/run" --preset "$preset" --data "$state/data" --resident "$resident" \
      --minutes "$remaining" --every "${EVERY:-3}" --unseen "$state/unseen-meshes" "$state/unseen-shapes" \
      --finish "$compile" $options && break
    [ "$(date +%s)" -lt $((end - 60)) ] || break
  done
}

# Copies the latest weights and the log to $OUT, which comes back even if the call is killed.
hand_back() {
  cp "$state/log" "$OUT/log.txt"
  [ -f "$state/run/weights.pt" ] || return 0
  [ ! "$OUT/weights.sha256" -nt "$state/run/weights.pt" ] || return 0
  rm -rf "$state/parts" && mkdir "$state/parts"
  cp "$state/run/weights.pt" "$state/weights.pt" # train.py replaces the file while it is read
  split -b 15000000 "$state/weights.pt" "$state/parts/weights.pt.part-"
  (cd "$state" && sha256sum weights.pt) >"$state/parts/weights.sha256"
  rm -f "$OUT"/weights.* && cp "$state/parts"/* "$OUT/"
}

report() {
  local seconds samples
  seconds=$(($(date +%s) - $(cat "$state/started")))
  samples=$(sed -n 's/^saved.* \([0-9]*\) samples.*/\1/p' "$state/log" | tail -1)
  awk -v s="${samples:-0}" -v t="$seconds" -v c="$renderers" 'BEGIN {
    printf "%d samples in %d s: %.1f per second, %.2f per second and core\n", s, t, s / t, s / t / c }'
  grep -E '^unseen|^saved|Error|error' "$state/log" | tail -8 || true
  cat "$state"/renderer-*.log | grep Error | sort | uniq -c | head -3 || true
  grep " min {" "$state/log" | tail -1 || tail -1 "$state/log"
  echo "Join with: cat weights.pt.part-* > weights.pt && sha256sum -c weights.sha256"
}

case "${1:-}" in
  --size) size; exit ;;
  --work) work; exit ;;
esac
: "${OUT:?the folder whose files come back}"
mkdir -p "$state"
if [ ! -f "$state/started" ]; then
  date +%s >"$state/started.new"
  check
  [ ! -f "$carried/weights.pt" ] || {
    mkdir -p "$state/run"
    "$python" grow.py "$carried/weights.pt" "$state/run/weights.pt" --preset "$preset"
  }
  cp -r "$carried/meshes" "$state/meshes"
  mv "$state/started.new" "$state/started"
  # The sources and the meshes are copied, because the next call replaces the working tree.
  mkdir -p "$state/code" && cp ./*.py ./*.cpp rented-gpu.sh "$state/code/"
  CARRIED=$state setsid bash "$state/code/rented-gpu.sh" --work </dev/null >"$state/log" 2>&1 &
fi
until=$(($(date +%s) + call))
while [ "$(date +%s)" -lt "$until" ] && [ ! -f "$state/finished" ]; do
  sleep "${PAUSE:-10}"
  hand_back
done
hand_back
report
