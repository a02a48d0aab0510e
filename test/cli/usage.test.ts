/** Output after a mistyped command, a missing file or a wrong server address. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CommandLineResult, runParley } from '../command-line.ts';

const PATIENCE = { timeout: 240_000 };

/** A server that is not the product: it serves a generic page, and a 404 in the style of many frameworks. */
let other: Server;

beforeAll(async () => {
  other = createServer((request, response) => {
    if (request.url?.startsWith('/v1'))
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"message": "Not found"}');
    else
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><title>Another program</title>');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
});
afterAll(() => {
  other.close();
});

/** Runs the command line with a key, against this other server. */
function parley(...args: readonly string[]): Promise<CommandLineResult> {
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  return runParley(args, {
    folder: tmpdir(),
    environment: { PARLEY_URL: url, PARLEY_API_KEY: 'pk_somebody' },
  });
}

it.each([
  [['walet', 'show'], /Did you mean wallet\?/],
  [['test', 'a', '--junit', 'results.xml'], /--junit needs --voice/],
  [['test', 'a', '--voice', 'none.json'], /none\.json cannot be read/],
  [
    ['sessions', 'list', '--limit', 'many'],
    /--limit.* 'many' is invalid\. It must be a whole number from 1 to 10000/,
  ],
  [['agents', 'diff', 'nobody.yaml'], /^nobody\.yaml cannot be read: no such file or directory\n$/],
  [['wallet', 'show'], /answers, but not like Parley: give the product’s address with --url or PARLEY_URL/],
  [['sessions', 'show', '0123'], /^no session 0123 at http:\/\/127\.0\.0\.1:\d+ \(HTTP 404\)\n$/],
  [['sessions', 'end', 'nope'], /^no session nope at http:\/\/127\.0\.0\.1:\d+ \(HTTP 404\)\n$/],
])('parley %j exits with 2 and suggests a fix', PATIENCE, async (args, said) => {
  const { code, out, err } = await parley(...args);
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(said);
});

it('prints its version and the name of every command', PATIENCE, async () => {
  const [version, help] = await Promise.all([parley('--version'), parley('--help')]);
  expect([version.code, version.out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  for (const command of [
    'agents',
    'numbers',
    'sessions',
    'call',
    'logs',
    'import',
    'export',
    'batch',
    'do-not-call',
    'wallet',
    'erase',
    'test',
  ])
    expect(help.out).toContain(`  ${command}`);
  for (const command of ['replay', 'bisect', 'tune', 'backup', 'restore', 'models', 'doctor', 'status'])
    expect(help.out).toContain(`  ${command}`);
});
