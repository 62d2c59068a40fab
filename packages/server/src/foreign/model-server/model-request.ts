import type { HttpManifest } from '@gen3d/engine';
import type { SamplerSettings } from '@gen3d/schema/rules';
import { FormData } from 'undici';
import type { JobOptions } from '../../data/jobs/job-options.js';

/** What a job wants from the server, besides the photo. */
export interface ModelWishes {
  sampler?: SamplerSettings | undefined;
  /** Changes the manifest's options of the same names. */
  options?: JobOptions | undefined;
}

export interface ModelRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | FormData;
}

/** Several servers read the seed as a signed integer of 32 bits. */
const seedRange = 2 ** 31;

/**
 * Forms the request for a photo as the server of this bundle expects it; docs/bundles.md names the servers.
 *
 * @param image a PNG. Without it, the request only shows whether the server accepts requests at this address
 */
export function modelRequest(
  manifest: HttpManifest,
  image: Uint8Array | undefined,
  { sampler, options }: ModelWishes = {},
): ModelRequest {
  const { body, model } = manifest;
  const { seed, steps } = sampler ?? {};
  const fields = {
    ...(model !== undefined && { model }),
    ...changedOptions(manifest.options, options),
    ...(seed !== undefined && { seed: seed % seedRange }),
    // LocalAI, which takes JSON, calls this `step`, and trellis2.c `steps`.
    ...(steps !== undefined && { [body === 'json' ? 'step' : 'steps']: steps }),
  };
  const url = new URL(manifest.url);
  const accept = { accept: 'application/json, model/gltf-binary', 'user-agent': 'gen3d' };
  switch (body) {
    case 'json': {
      const text = JSON.stringify({ ...fields, ...(image && { image: Buffer.from(image).toString('base64') }) });
      return { url, headers: { ...accept, 'content-type': 'application/json' }, body: text };
    }
    case 'image': {
      for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, String(value));
      return { url, headers: { ...accept, 'content-type': 'image/png' }, body: image ?? new Uint8Array() };
    }
    case 'form': {
      const form = new FormData();
      // A form without fields has no valid body.
      for (const [name, value] of Object.entries({ ...fields, ...(!image && { probe: 1 }) }))
        form.set(name, String(value));
      if (image) form.set('image', new Blob([image as Uint8Array<ArrayBuffer>], { type: 'image/png' }), 'photo.png');
      return { url, headers: accept, body: form };
    }
  }
}

/** Returns the bundle's options with those values of the job that have the same name and can have the same type. */
function changedOptions(listed: HttpManifest['options'], changes: JobOptions = {}): HttpManifest['options'] {
  const changed = Object.entries(listed).map(([name, value]) => [name, changedOption(value, changes[name]) ?? value]);
  return Object.fromEntries(changed);
}

/** The command line sends texts, so `512` can change a number, and `true` a boolean. */
function changedOption(listed: unknown, change: JobOptions[string] | undefined): JobOptions[string] | undefined {
  if (change === undefined) return undefined;
  if (typeof listed === 'string') return String(change);
  if (typeof listed === 'number') return Number.isFinite(Number(change)) && change !== '' ? Number(change) : undefined;
  if (typeof listed !== 'boolean') return undefined;
  return ({ true: true, false: false } as Record<string, boolean>)[String(change)];
}
