import { once } from 'node:events';
import type { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import type { ServerOptions } from '../connection/client.js';
import { interruptible, stopped } from '../exit/interruption.js';
import { say } from '../terminal/terminal.js';

interface McpOptions extends ServerOptions {
  readonly folder?: readonly string[];
}

export function addMcp(program: Command): void {
  program
    .command('mcp')
    .summary('let a coding assistant make models')
    .description(
      'Speak the Model Context Protocol on stdin and stdout: tools create, wait, list and download for a coding assistant,\n' +
        'which starts this command itself. docs/mcp.md says how to add it to one.',
    )
    .option('--folder <folder...>', 'where photos may be read and models written; default: the current folder')
    .action((_: unknown, command: Command) => mcp(command.optsWithGlobals()));
}

async function mcp({ folder, ...options }: McpOptions): Promise<void> {
  // Only here: nobody else should wait for the protocol to load.
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const { Folders } = await import('../mcp/folders.js');
  const { mcpServer } = await import('../mcp/server.js');
  const folders = await Folders.open(folder ?? [process.cwd()]);
  await interruptible(async (signal) => {
    const server = mcpServer(packageJson.version, folders, options);
    await server.connect(new StdioServerTransport());
    if (process.stdin.isTTY) say('This waits for an assistant that speaks the Model Context Protocol. Ctrl-C ends');
    // An assistant that has gone has closed its end; the transport does not look at that.
    await Promise.race([stopped(signal), once(process.stdin, 'close')]);
    await server.close();
  });
}
