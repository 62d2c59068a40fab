import { lookup } from 'node:dns/promises';
import { open } from 'node:fs/promises';
import { BlockList, isIPv6 } from 'node:net';
import { basename } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  certificateProblem,
  describeFileType,
  isPhotoType,
  labelOfUrl,
  limits,
  photoFormatChoice,
  sniffedBytes,
  sniffFileType,
} from '@gen3d/schema/rules';
import type { ImageInput } from '@gen3d/sdk';
import { UsageError } from '../exit/failure.js';
import { shownName } from '../terminal/terminal.js';

export const isUrl = (image: string): boolean => /^https?:\/\//i.test(image);
export const isDataUri = (image: string): boolean => /^data:/i.test(image);
export const isFile = (image: string): boolean => image !== '-' && !isUrl(image) && !isDataUri(image);

/** Labels a photo's job with the name of its file, or the last part of its URL. Undefined for stdin and data URIs. */
export function labelOf(image: string): string | undefined {
  if (image === '-' || isDataUri(image)) return undefined;
  if (!isUrl(image)) return basename(image);
  return (URL.canParse(image) ? labelOfUrl(image) : null) ?? undefined;
}

/** Matches the paths of URLs whose format the server does not decode, and the SDK converts. */
const clientFormats = /\.(heic|heif|tiff?)$/i;

/**
 * Converts an argument of `create` to an input of the SDK, which scales large photos and converts other formats.
 * Fetches URLs of this machine and its network, which the server must not or cannot fetch, and of formats that only
 * clients convert.
 *
 * @throws {UsageError} if a URL is not valid or cannot be fetched, or a file is not a photo
 */
export async function photoInput(image: string, signal: AbortSignal): Promise<ImageInput> {
  if (isDataUri(image)) return image;
  if (isUrl(image)) {
    const url = photoUrl(image);
    const isFetchedHere = clientFormats.test(url.pathname) || (await isOnPrivateNetwork(url));
    return isFetchedHere ? photoFile(image, await fetchPhoto(url, signal)) : image;
  }
  if (image === '-') return photoFile('stdin', await buffer(addAbortSignal(signal, process.stdin)));
  await requirePhotoFile(image);
  return image;
}

/**
 * Parses the URL of a photo.
 *
 * @throws {UsageError} if it is not a valid URL, for example because it has no host
 */
export function photoUrl(image: string): URL {
  if (URL.canParse(image)) return new URL(image);
  throw new UsageError(
    `${shownName(image)} is not a valid URL. Pass the path of a photo, an http(s) URL, or - for stdin`,
  );
}

/** Explains why a path leads to no file. Arguments that are not UTF-8 reach Node with this character in their place. */
export function missingFile(path: string, cause: unknown): UsageError {
  const problem = path.includes('\uFFFD')
    ? 'does not exist, or its name is not valid UTF-8. Rename the file'
    : 'does not exist. Pass the path of a photo, an http(s) URL, or - for stdin';
  return new UsageError(`${shownName(path)} ${problem}`, { cause });
}

/** @throws {UsageError} if a file is not a photo */
export async function requirePhotoFile(path: string): Promise<void> {
  requirePhoto(path, await readStart(path));
}

/** Rejects files that are not photos. The SDK accepts fewer formats than the CLI, and its error names only those. */
function requirePhoto(name: string, start: Uint8Array): void {
  const type = sniffFileType(start);
  if (start.length === 0 || isPhotoType(type)) return;
  throw new UsageError(`${shownName(name)} is ${describeFileType(type)}. Send a ${photoFormatChoice}`);
}

/**
 * Makes a file of a photo, for the SDK. `name` is for error messages.
 *
 * @throws {UsageError} if it is not a photo
 */
export async function photoFile(name: string, photo: Uint8Array): Promise<File> {
  requirePhoto(name, photo);
  return new File([new Uint8Array(photo)], name);
}

async function readStart(path: string): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(sniffedBytes), 0, sniffedBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const privateNetworks = new BlockList();
for (const [network, prefix] of [
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  privateNetworks.addSubnet(network, prefix, 'ipv4');
}
privateNetworks.addAddress('::1', 'ipv6');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');
privateNetworks.addSubnet('fe80::', 10, 'ipv6');

/** Whether the URL's host is this machine or has a private address. A server refuses to fetch such URLs by default. */
async function isOnPrivateNetwork({ hostname }: URL): Promise<boolean> {
  // The server may know a name that this machine does not.
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  return addresses.some(({ address }) => privateNetworks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4'));
}

/** Fetches a photo of at most 25 MiB. @throws {UsageError} if it cannot be fetched, or is larger */
async function fetchPhoto(url: URL, signal: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(url, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted();
    const reason = (cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause) as Error;
    const certificate = certificateProblem('code' in reason ? reason.code : undefined);
    const problem = certificate ?? `${reason.message}. Check the URL, and that its server is running`;
    throw new UsageError(`Cannot fetch ${url.href}: ${problem}`, { cause });
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new UsageError(`Cannot fetch ${url.href}: status ${response.status}. Check the URL`);
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > limits.remoteImageBytes)
      throw new UsageError(`${url.href} is larger than 25 MiB. Make the photo smaller`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
