import type { GLTF } from '@gltf-transform/core';

const jsonStart = 20;

/**
 * Changes the JSON of a GLB, and nothing else in it.
 *
 * @param glb a complete GLB
 * @example
 * const signed = editJson(glb, ({ asset }) => {
 *   asset.copyright = 'Ann';
 * });
 */
export function editJson(glb: Uint8Array, edit: (json: GLTF.IGLTF) => void): Uint8Array {
  const header = new DataView(glb.buffer, glb.byteOffset, glb.byteLength);
  const jsonEnd = jsonStart + header.getUint32(12, true);
  const json = JSON.parse(new TextDecoder().decode(glb.subarray(jsonStart, jsonEnd))) as GLTF.IGLTF;
  edit(json);
  const text = new TextEncoder().encode(JSON.stringify(json));
  const end = jsonStart + text.length + (-text.length & 3);
  const rest = glb.subarray(jsonEnd, header.getUint32(8, true));
  const edited = new Uint8Array(end + rest.length);
  edited.set(glb.subarray(0, jsonStart));
  // glTF pads the JSON with spaces to a multiple of 4 bytes.
  edited.fill(0x20, jsonStart, end);
  edited.set(text, jsonStart);
  edited.set(rest, end);
  const view = new DataView(edited.buffer);
  view.setUint32(8, edited.length, true);
  view.setUint32(12, end - jsonStart, true);
  return edited;
}
