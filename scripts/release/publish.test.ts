import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { releaseLists } from './publish.mjs';

// The stand-in for npm is a shell script.
describe.skipIf(process.platform === 'win32')('publish', () => {
  let folder: string;
  const packages = () => [
    { name: '@gen3d/other', version: '1.0.0', tarball: join(folder, 'other-platforms/other.tgz') },
    { name: '@gen3d/sdk', version: '0.2.0', tarball: join(folder, 'sdk.tgz') },
  ];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gen3d-publish-'));
    mkdirSync(join(folder, 'other-platforms'));
    for (const { tarball, name } of packages()) writeFileSync(tarball, name);
    for (const [name, text] of Object.entries(releaseLists(folder, packages())))
      writeFileSync(join(folder, name), text);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('publishes the checked tarballs in order, without the versions that the registry has', () => {
    publishWith('[ "$2" = "@gen3d/other@1.0.0" ] && echo 1.0.0');
    expect(calls()).toEqual([
      'view @gen3d/other@1.0.0 version',
      'view @gen3d/sdk@0.2.0 version',
      `publish ${join(folder, 'sdk.tgz')} --ignore-scripts --provenance --access public`,
    ]);
  });

  test('publishes nothing if one tarball has changed since it was checked', () => {
    appendFileSync(join(folder, 'sdk.tgz'), 'x');
    expect(() => publishWith('')).toThrow('sdk.tgz is not the file that was checked');
    expect(calls()).toEqual([]);
  });

  test('names the command that makes a release if there is none', () => {
    rmSync(join(folder, 'packages.json'));
    expect(() => publishWith('')).toThrow('npm run release -- --dry-run');
  });

  test('imports nothing that is installed, also through the modules that it imports', () => {
    const loaded = new Set<string>();
    const load = (url: URL) => {
      if (loaded.has(url.href)) return;
      loaded.add(url.href);
      for (const [, name = ''] of readFileSync(url, 'utf8').matchAll(/ from '([^']+)';$/gm)) {
        if (name.startsWith('.')) load(new URL(name, url));
        else expect(name).toMatch(/^node:/);
      }
    };
    load(new URL('../release.mjs', import.meta.url));
    expect(loaded.size).toBeGreaterThan(3);
  });

  /** Runs `publish` in a process of its own, whose `npm` writes down its arguments and then runs `script`. */
  function publishWith(script: string): void {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'npm'), `#!/bin/sh\necho "$*" >> ${join(folder, 'calls')}\n${script}\nexit 0\n`, {
      mode: 0o755,
    });
    const code = `const { publish } = await import(${JSON.stringify(new URL('publish.mjs', import.meta.url).href)});
      await publish(${JSON.stringify(folder)});`;
    execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
      stdio: 'pipe',
    });
  }

  const calls = () => {
    const path = join(folder, 'calls');
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  };
});
