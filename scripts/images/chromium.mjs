import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { Failed } from '../processes.mjs';

const paths = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'];

/** Starts the installed Chromium. WebGL works without a GPU: SwiftShader renders on the CPU. */
export async function launchChromium() {
  const executablePath = paths.find((path) => path && existsSync(path));
  if (!executablePath) throw new Failed('Chromium was not found. Install it, or set its path: CHROMIUM=/path/to/it');
  const args = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist', '--no-sandbox'];
  return chromium.launch({ executablePath, args });
}
