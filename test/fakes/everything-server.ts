/**
 * The protocol's own reference server, `@modelcontextprotocol/server-everything`, as a process of its own on
 * a port of 127.0.0.1: a server that was not written for Parley.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freeTcpPort } from '#test/free-port.ts';

const PROGRAM = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);

/** A running server. */
export interface EverythingServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the server over streamable HTTP; resolves once it listens. */
export async function startEverythingServer(): Promise<EverythingServer> {
  const port = await freeTcpPort();
  const program = spawn(process.execPath, [PROGRAM, 'streamableHttp'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], PORT: String(port) },
  });
  const close = async () => {
    if (program.exitCode !== null || program.signalCode !== null) return;
    const ended = once(program, 'exit');
    program.kill('SIGKILL');
    await ended;
  };
  let printed = '';
  // Destroying the stream at its first line would kill the program at its next one.
  for await (const text of program.stderr.iterator({ destroyOnReturn: false })) {
    printed += String(text);
    if (!/listening on port/i.test(printed)) continue;
    program.stderr.resume();
    return { url: `http://127.0.0.1:${port}/mcp`, close };
  }
  await close();
  throw new Error(`the reference server did not start: ${printed}`);
}
