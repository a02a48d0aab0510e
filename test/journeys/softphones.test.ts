/**
 * Journey: stock softphones on the product's own machine, whose network interface has a private and a public
 * address, phone the demo agent with the line printed at start and that of the page.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeNeeds, describePossible, has } from '#test/needs.ts';
import { ASKED } from './microphone.ts';
import type { FailedCall, SoftphoneCall } from './softphone-network.ts';
import { linesOfPage } from './stock-phones.ts';

const ROOT = join(import.meta.dirname, '../..');
const NEEDED = ['unshare', 'ip', 'baresip', 'pocketsphinx_continuous'];
/** A start (90 s), a call (34 s), its end (60 s) and a stop, on a busy machine. */
const LIMIT_MS = 300_000;
const [PRIVATE, PUBLIC] = ['10.0.0.2', '203.0.113.5'] as const;
/**
 * A machine of the test's own: network and processes. The kernel ends its processes with the first of them,
 * which ends with this one.
 */
const OWN_MACHINE = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** For users other than root. The product then cannot raise its priorities, so root does without. */
const AS_USER = [...OWN_MACHINE, '--map-root-user'];

/**
 * The options that work here, or why none do, as in a container without the right to. Throws for any other
 * failure.
 */
function findOptions(): { readonly options: readonly string[]; readonly obstacle: string | null } {
  let obstacle = '';
  for (const options of [OWN_MACHINE, AS_USER]) {
    const tried = spawnSync('unshare', [...options, 'ip', 'link', 'add', 'card0', 'type', 'veth'], {
      encoding: 'utf8',
    });
    if (tried.status === 0) return { options, obstacle: null };
    if (!/Operation not permitted|Permission denied/.test(tried.stderr))
      throw new Error(`no network namespace can be made: ${tried.error?.message ?? tried.stderr.trim()}`);
    obstacle = `no network namespace can be made: ${tried.stderr.trim()}`;
  }
  return { options: [], obstacle };
}

const { options, obstacle } = has(NEEDED) ? findOptions() : { options: [], obstacle: null };
const describeCalls = obstacle === null ? describeNeeds(NEEDED) : describePossible(obstacle);

describeCalls('a call from a stock softphone on the same machine', () => {
  /** By the preferred address. */
  const machines = new Map<string, { readonly process: ChildProcess; readonly output: string[] }>();
  let folder: string;

  /** Runs the phones on a machine whose network interface has these addresses, the first one preferred. */
  async function callFrom(lines: 'start' | 'page', addresses: readonly [string, string]): Promise<void> {
    const program = join(import.meta.dirname, 'softphone-network.ts');
    const machine = spawn('unshare', [...options, process.execPath, program, lines, ...addresses], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: folder },
    });
    const output: string[] = [];
    machines.set(addresses[0], { process: machine, output });
    for (const stream of [machine.stdout, machine.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
    await once(machine, 'close');
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'softphones-'));
    await Promise.all([callFrom('start', [PRIVATE, PUBLIC]), callFrom('page', [PUBLIC, PRIVATE])]);
  }, LIMIT_MS);
  afterAll(async () => {
    for (const { process: machine, output } of machines.values()) {
      if (machine.exitCode !== null || machine.signalCode !== null) continue;
      machine.kill('SIGKILL');
      await once(machine, 'exit');
      // The calls have timed out, and no test has run that would show why.
      console.log(output.join(''));
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it.for([
    ['baresip', 'start', 'private', PRIVATE],
    ['baresip', 'page', 'public', PUBLIC],
    ['Linphone', 'start', 'private', PRIVATE],
    ['Linphone', 'page', 'public', PUBLIC],
  ] as const)(
    'is admitted, heard and answered: %s with the line of the %s, at the interface’s %s address',
    ([phone, , , address], { skip, onTestFailed }) => {
      const output = machines.get(address)?.output.join('') ?? '';
      onTestFailed(() => console.log(output));
      const calls = /^calls (\{.*\})$/m.exec(output)?.[1];
      expect(calls, 'the phones could call').toBeDefined();
      const call: SoftphoneCall | FailedCall | undefined = JSON.parse(calls ?? '')[phone];
      if (!call) return skip(`not on this machine: ${phone}`);
      if ('failure' in call) return expect.fail(call.failure);
      expect(call.address).toBe(address);
      expect(call.isUnheard).toBe(false);
      expect(call.packetsReceived).toBeGreaterThan(500);
      expect(call.heardSeconds).toBeGreaterThan(5);
      expect(call.items).toContainEqual(
        expect.stringMatching(new RegExp(`^user: .*${ASKED.source}`, ASKED.flags)),
      );
      expect(call.items.join()).toContain('We are open every day from noon until ten in the evening.');
    },
  );
});

describe('the line of a stock softphone', () => {
  it('is the same in README and docs', () => {
    const { baresip } = linesOfPage('docs/phone-calls.md', 'Try it with a softphone');
    expect(linesOfPage('README.md', 'Dial it')).toEqual({ baresip });
  });
});
