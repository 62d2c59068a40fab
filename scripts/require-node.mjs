/** Exits with one sentence on an old Node, which would otherwise fail with unrelated errors of the tools. */
export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`gen3d requires Node 20.19 or later, and this is ${process.version}. Get it from https://nodejs.org`);
  process.exit(1);
}
