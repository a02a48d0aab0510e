/** Runs a command within the process of its test, against any server. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Command } from 'commander';
import { vi } from 'vitest';
import { Api } from '#cli/api.ts';
import type { addReplayCommands } from '#cli/replay.ts';

/** What `add` adds to the program gets these arguments; returns what is printed. Rejects as it does. */
export async function printedBy(
  server: Server,
  add: typeof addReplayCommands,
  args: readonly string[],
  { json = false } = {},
): Promise<string> {
  const printed: string[] = [];
  const print = vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const program = new Command('parley').exitOverride();
  add(program, { api: () => new Api({ url, key: 'key' }), url, json });
  try {
    await program.parseAsync([...args], { from: 'user' });
  } finally {
    print.mockRestore();
  }
  return printed.join('\n');
}
