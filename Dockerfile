# Two images from one file. The CPU's is the default:  docker build -t gen3d .
# NVIDIA, Linux x64:  docker build --target cuda -t gen3d:cuda .
# Without Docker:  scripts/build-image.sh
# /app is what npm installs from the packages, with the dependencies in pnpm-lock.yaml. docs/operations/deployment.md makes
# the same folder without Docker. Base images are named by digest; .github/dependabot.yml renews them.

FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS build
WORKDIR /src
# For SQLite's addon, where no prebuilt binary can be downloaded.
RUN apt-get update && apt-get install -y --no-install-recommends g++ make python3 && rm -rf /var/lib/apt/lists/*
COPY . .
RUN node scripts/pnpm.mjs install --frozen-lockfile && npm run build && npm run pack
# The image needs SQLite's addon, but not its sources. Types and source maps are for developers.
RUN node scripts/install-packed.mjs /app --ignore-scripts \
  && npm rebuild --prefix /app better-sqlite3 \
  && rm -rf /app/node_modules/better-sqlite3/deps /app/node_modules/better-sqlite3/src \
  && find /app -name '*.d.ts' -delete -o -name '*.d.mts' -delete -o -name '*.d.cts' -delete -o -name '*.map' -delete

FROM build AS cuda-libraries
# onnxruntime's CUDA libraries are not in an npm package. Its own script downloads them to where it looks for them.
RUN ONNXRUNTIME_NODE_INSTALL=cuda12 node /app/node_modules/@gen3d/onnxruntime-linux-x64/script/install.js

FROM nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04@sha256:8aef630a54bc5c5146ae5ce68e6af5caa3df0fb690bb91544175c91f307e4356 AS cuda
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=cuda-libraries /app /app
# bubblewrap is the sandbox of the decoders, where the container may create namespaces.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
RUN ln -s /app/node_modules/gen3d/bin/gen3d.js /usr/local/bin/gen3d && install -d -o 10001 -g 10001 /data
ENV NODE_ENV=production HOME=/data GEN3D_DATA_DIR=/data GEN3D_CONFIG_DIR=/data/config GEN3D_HOST=0.0.0.0
USER 10001:10001
VOLUME /data
EXPOSE 8787
ENTRYPOINT ["gen3d"]
CMD ["serve"]

# Node is one file. npm, its headers and the rest of Node's image are not needed to run gen3d.
FROM debian:bookworm-slim@sha256:3783cc01769c7b2b1b83a5c5ad96c815348e28ed7da68e2e3687004faa906251 AS cpu
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app /app
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
RUN ln -s /app/node_modules/gen3d/bin/gen3d.js /usr/local/bin/gen3d && install -d -o 10001 -g 10001 /data
ENV NODE_ENV=production HOME=/data GEN3D_DATA_DIR=/data GEN3D_CONFIG_DIR=/data/config GEN3D_HOST=0.0.0.0
# A user without a name, a home or a password, who can write /data and nothing else.
USER 10001:10001
VOLUME /data
EXPOSE 8787
ENTRYPOINT ["gen3d"]
CMD ["serve"]
