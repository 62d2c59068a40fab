import { finished } from 'node:stream/promises';
import type { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import type { ServerOptions } from '../connection/client.js';
import { aborted, interruptible } from '../exit/interruption.js';
import { say } from '../terminal/terminal.js';

interface McpOptions extends ServerOptions {
  readonly folder?: readonly string[];
}

export function addMcp(program: Command): void {
  program
    .command('mcp')
    .summary('serve the tools for coding assistants')
    .description(
      'Run an MCP (Model Context Protocol) server on stdin and stdout, with the tools create, wait, list and download.\n' +
        'Coding assistants start this command themselves. docs/mcp.md explains how to configure them.',
    )
    .option('--folder <folder...>', 'where photos may be read and models written; default: the current folder')
    .action((_: unknown, command: Command) => mcp(command.optsWithGlobals()));
}

async function mcp({ folder, ...options }: McpOptions): Promise<void> {
  // Imported here, because the protocol would slow down the start of other commands.
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const { Folders } = await import('../mcp/folders.js');
  const { mcpServer } = await import('../mcp/server.js');
  const folders = await Folders.open(folder ?? [process.cwd()]);
  await interruptible(async (signal) => {
    const server = mcpServer(packageJson.version, folders, options);
    await server.connect(new StdioServerTransport());
    if (process.stdin.isTTY) say('Waiting for an MCP client on stdin (Ctrl-C to stop)');
    // The transport does not notice when the assistant closes stdin.
    await Promise.race([aborted(signal), finished(process.stdin, { writable: false })]);
    await server.close();
  });
}
