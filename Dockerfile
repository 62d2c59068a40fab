# Two images from one file. The CPU's is the default:  docker build -t gen3d .
# NVIDIA, Linux x64:  docker build --target cuda -t gen3d:cuda .
# What is in /app is all there is to install: docs/operations/deployment.md makes the same folder without Docker.

FROM node:22-bookworm AS build
WORKDIR /src
COPY . .
# Compiles SQLite's addon where no prebuilt one fits; this image has the compiler, those below do not.
RUN node scripts/pnpm.mjs install --frozen-lockfile && npm run build
# The command with everything it needs, and nothing that only building or testing does.
RUN node scripts/pnpm.mjs --filter gen3d deploy --legacy --prod /app && cp -r models /app/models

FROM build AS cuda-libraries
# onnxruntime's CUDA part is not in its npm package; its own script fetches it to where it looks for it.
RUN ONNXRUNTIME_NODE_INSTALL=cuda12 node "$(find /app/node_modules -path '*/onnxruntime-node/script/install.js' | head -n 1)"

FROM nvidia/cuda:12.6.3-cudnn-runtime-ubuntu24.04 AS cuda
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=cuda-libraries /app /app
RUN ln -s /app/bin/gen3d.js /usr/local/bin/gen3d && install -d -o 10001 -g 10001 /data
ENV NODE_ENV=production HOME=/data GEN3D_DATA_DIR=/data GEN3D_CONFIG_DIR=/data/config GEN3D_HOST=0.0.0.0
USER 10001:10001
VOLUME /data
EXPOSE 8787
ENTRYPOINT ["gen3d"]
CMD ["serve"]

FROM node:22-bookworm-slim AS cpu
COPY --from=build /app /app
RUN ln -s /app/bin/gen3d.js /usr/local/bin/gen3d && install -d -o 10001 -g 10001 /data
ENV NODE_ENV=production HOME=/data GEN3D_DATA_DIR=/data GEN3D_CONFIG_DIR=/data/config GEN3D_HOST=0.0.0.0
# A user without a name, a home or a password, who can write /data and nothing else.
USER 10001:10001
VOLUME /data
EXPOSE 8787
ENTRYPOINT ["gen3d"]
CMD ["serve"]
