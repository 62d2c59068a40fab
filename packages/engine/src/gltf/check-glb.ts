const maxIssues = 1_000;

/**
 * Returns the first error that Khronos's validator finds in a GLB. Undefined if the file is valid.
 *
 * @example
 * const problem = await problemOfGlb(await readFile('mug.glb'));
 * if (problem) console.error(`mug.glb is not valid glTF: ${problem}`);
 */
export async function problemOfGlb(glb: Uint8Array): Promise<string | undefined> {
  // Loaded with the first file of another program, because it takes a moment.
  const { default: validator } = await import('gltf-validator');
  const { issues } = await validator.validateBytes(glb, { format: 'glb', maxIssues });
  const error = issues.messages.find(({ severity }) => severity === 0);
  if (error) return `${error.message} (${error.code} at ${error.pointer ?? 'the start of the file'})`;
  return issues.truncated ? `It has more than ${maxIssues} issues` : undefined;
}
