import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { Failed } from './processes.mjs';
import { root } from './repository.mjs';

const installed = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/usr/bin/chromium-browser',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/**
 * Starts `CHROMIUM`, else an installed Chromium or Chrome, else on Linux x64 the one in a development dependency.
 * WebGL 2 works without a GPU: SwiftShader renders on the CPU.
 *
 * @returns {Promise<import('playwright-core').Browser>}
 * @throws {Failed} if none of them exists
 */
export async function launchChromium() {
  const args = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist', '--no-sandbox'];
  const executablePath = process.env.CHROMIUM || installed.find((path) => existsSync(path));
  const options = { args, ...(executablePath ? { executablePath } : unpackedChromium()) };
  return chromium.launch(options).catch((error) => {
    // Chromium rarely crashes while it starts (SIGSEGV once in CI, never in 116 tries), whatever is being tested.
    console.warn(`Chromium did not start, so it is started once more: ${error.message.split('\n', 1)[0]}`);
    return chromium.launch(options);
  });
}

/** Chromium from `@sparticuz/chromium`, with the libraries and fonts it needs. The first call unpacks them in 2 seconds. */
function unpackedChromium() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Failed('Chromium was not found. Install it, or set its path: CHROMIUM=/path/to/it');
  }
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/@sparticuz/chromium/package.json'), 'utf8'));
  const cache = join(root, 'node_modules/.cache');
  const folder = join(cache, `chromium-${version}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    // The package unpacks into TMPDIR, and its libraries only where it takes the system for AWS Lambda. Renaming the
    // folder afterwards keeps a process that starts at the same time from using half a browser.
    const unpacking = mkdtempSync(join(cache, 'chromium-'));
    const script = "import('@sparticuz/chromium').then(({ default: chromium }) => chromium.executablePath())";
    const env = { ...process.env, TMPDIR: unpacking, AWS_EXECUTION_ENV: '20.x' };
    const { status, stderr } = spawnSync(process.execPath, ['-e', script], { cwd: root, env, encoding: 'utf8' });
    if (status !== 0) throw new Failed(`Chromium could not be unpacked into ${unpacking}: ${stderr}`);
    // Without any font, Chromium crashes at the first text field. The package's own settings look for fonts in /tmp.
    const fonts = `<include ignore_missing="yes">/etc/fonts/fonts.conf</include><dir>${folder}/fonts</dir>`;
    writeFileSync(join(unpacking, 'fonts.conf'), `<?xml version="1.0"?><fontconfig>${fonts}</fontconfig>`);
    try {
      renameSync(unpacking, folder);
    } catch {
      // Another process was faster.
      rmSync(unpacking, { recursive: true });
    }
  }
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
    FONTCONFIG_FILE: join(folder, 'fonts.conf'),
  };
  return { executablePath: join(folder, 'chromium'), env };
}
