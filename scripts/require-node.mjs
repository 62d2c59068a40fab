/** Ends the script with a sentence where Node is too old: what would follow is a page of errors of other programs. */
export function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`gen3d needs Node 20.19 or later, and this is ${process.version}. Get one from https://nodejs.org`);
  process.exit(1);
}
