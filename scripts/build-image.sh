#!/usr/bin/env bash
# Builds the CPU image without Docker or a registry of images: `sudo scripts/build-image.sh [TAG]`, by default
# gen3d:0.1.0. It needs Debian's buildah and debootstrap, and npm. The base images come from Debian's packages and npm's
# node, under the names in the Dockerfile without their digests. Prints the image's size.
set -euo pipefail
tag=${1:-gen3d:0.1.0}
cd "$(dirname "$0")/.."
for command in buildah debootstrap npm; do
  command -v "$command" >/dev/null || { echo "$command is missing. Debian has buildah, debootstrap and npm." >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "debootstrap needs root. Run this script with sudo." >&2; exit 1; }

work=$(mktemp -d)
containers=()
trap 'for container in "${containers[@]}"; do buildah rm "$container" >/dev/null; done; rm -rf "$work"' EXIT

if ! buildah inspect --type image debian:bookworm-slim >/dev/null 2>&1; then
  debian=$(buildah from scratch)
  containers+=("$debian")
  folder=$(buildah mount "$debian")
  debootstrap --variant=minbase bookworm "$folder" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}"
  rm -rf "$folder"/var/cache/apt/* "$folder"/var/lib/apt/lists/* "$folder"/var/log/* "$folder"/usr/share/{doc,info,locale,man}/*
  buildah commit "$debian" docker.io/library/debian:bookworm-slim
fi
if ! buildah inspect --type image node:22-bookworm-slim >/dev/null 2>&1; then
  npm install --prefix "$work" --no-save --no-audit --no-fund "node-linux-$(node -p process.arch)@22" npm@10
  node=$(buildah from --pull-never debian:bookworm-slim)
  containers+=("$node")
  folder=$(buildah mount "$node")/usr/local
  cp "$work"/node_modules/node-linux-*/bin/node "$folder/bin/"
  cp -r "$work/node_modules/npm" "$folder/lib/"
  for name in npm npx; do ln -s "../lib/npm/bin/$name-cli.js" "$folder/bin/$name"; done
  buildah commit "$node" docker.io/library/node:22-bookworm-slim
fi

# Inside, npm uses this machine's registry and certificate authorities.
sed 's/@sha256:[0-9a-f]*//' Dockerfile >"$work/Dockerfile"
printf 'registry=%s\ncafile=/etc/ssl/certs/ca-certificates.crt\n' "$(npm config get registry)" >"$work/npmrc"
buildah bud --file "$work/Dockerfile" --isolation chroot --pull-never --target cpu --tag "$tag" \
  --volume "$work/npmrc:/root/.npmrc:ro" --volume /etc/ssl/certs:/etc/ssl/certs:ro .
echo "$tag: $(buildah images --format '{{.Size}}' "$tag")"
