/**
 * Journey: stock softphones on the product's own machine, whose network card has a private and a public
 * address, phone the demo agent with the lines that the start prints.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { describeNeeds, describePossible, has } from '#test/needs.ts';
import type { SoftphoneCall } from './softphone-network.ts';

const ROOT = join(import.meta.dirname, '../..');
const NEEDED = ['unshare', 'ip', 'baresip', 'pocketsphinx_continuous'];
const [PRIVATE, PUBLIC] = ['10.0.0.2', '203.0.113.5'] as const;
/** A network of the test's own, in which it is root. */
const OWN_NETWORK = ['--map-root-user', '--net'];

/** Why no network can be made, as in a container without the right to; null if one can. */
function obstacle(): string | null {
  const tried = spawnSync('unshare', [...OWN_NETWORK, 'ip', 'link', 'add', 'card0', 'type', 'veth'], {
    encoding: 'utf8',
  });
  return tried.status === 0 ? null : `no network namespace can be made: ${tried.stderr.trim()}`;
}

/** Runs the phones on a machine whose card has these addresses, the first one preferred. */
async function callsFrom(...addresses: string[]): Promise<Readonly<Record<string, SoftphoneCall>>> {
  const program = join(import.meta.dirname, 'softphone-network.ts');
  const child = spawn('unshare', [...OWN_NETWORK, process.execPath, program, ...addresses], { cwd: ROOT });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
  await once(child, 'close');
  const calls = /^calls (\{.*\})$/m.exec(output.join(''))?.[1];
  if (calls === undefined) throw new Error(`the phones could not call:\n${output.join('').slice(-4_000)}`);
  return JSON.parse(calls);
}

const describeCalls = has(NEEDED) ? describePossible(obstacle()) : describeNeeds(NEEDED);

describeCalls('a call from a stock softphone on the same machine', () => {
  const calls = new Map<string, Readonly<Record<string, SoftphoneCall>>>();
  beforeAll(async () => {
    await Promise.all([
      callsFrom(PRIVATE, PUBLIC).then((made) => calls.set(PRIVATE, made)),
      callsFrom(PUBLIC, PRIVATE).then((made) => calls.set(PUBLIC, made)),
    ]);
  }, 300_000);

  it.for([
    ['baresip', 'private', PRIVATE],
    ['baresip', 'public', PUBLIC],
    ['Linphone', 'private', PRIVATE],
    ['Linphone', 'public', PUBLIC],
  ] as const)(
    'is admitted, heard and answered: %s, at the card’s %s address',
    ([phone, , address], { skip }) => {
      const call = calls.get(address)?.[phone];
      if (!call) return skip(`not on this machine: ${phone}`);
      expect(call.address).toBe(address);
      expect(call.isUnheard).toBe(false);
      expect(call.packetsReceived).toBeGreaterThan(500);
      expect(call.heardSeconds).toBeGreaterThan(5);
      expect(call.items).toContain('user: what are your opening hours');
      expect(call.items.join()).toContain('We are open every day from noon until ten in the evening.');
    },
  );
});
