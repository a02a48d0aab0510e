import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { serveWorkerLink } from '#control-plane/calls/workers/worker-link-server.ts';
import { connectControlPlane } from '#runtime/link/control-plane-client.ts';
import { adoptSpools, openSpool, type Spool } from '#runtime/link/spool.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { MemorySink } from '../../../fakes/memory-sink.ts';
import { createTestHub } from '../../../fakes/test-hub.ts';

const TOKEN = 'a-token-of-the-workers';
const logger = createLogger({ level: 'silent', name: 'test' });

/** A directory of spools. */
async function spoolRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'parley-deaths-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

/** Connects a worker with these spools. */
function connect(url: string, clock: Clock, spool: Spool, adopted: ReadonlyMap<string, Spool>): void {
  const client = connectControlPlane({
    url,
    token: TOKEN,
    clock,
    logger,
    spool,
    adopted,
    facts: () => ({
      instanceId: 'heir',
      supervisorRun: null,
      capacity: 1,
      codecs: [],
      sipTag: null,
      sipServers: [],
      kinds: ['web'],
      sessions: [],
    }),
    load: () => ({ calls: 0, freeSlots: 1, loopLagMs: 0 }),
    onMessage: () => undefined,
    onAlone: () => undefined,
  });
  onTestFinished(async () => {
    client.close();
    await spool.close();
  });
}

it('the calls of a dead worker are settled when the database is back', async () => {
  const clock = new ManualClock();
  const sink = new MemorySink();
  const workerDead = vi.spyOn(sink, 'workerDead').mockRejectedValueOnce(new Error('the database is away'));
  const { hub } = createTestHub({ clock, logger, sink });
  const settled = hub.workerDied('gone', { isReplaced: true });
  // Time for its spool, then the pause between two attempts.
  await clock.advance(1_500);
  await vi.waitFor(() => expect(workerDead).toHaveBeenCalledTimes(1));
  await clock.advance(1_000);
  await settled;
  expect(sink.events).toEqual(['dead gone']);
  await hub.close();
});

it('a worker found dead later died when it last touched its spool, and not when that is read', async () => {
  const root = await spoolRoot();
  const left = await openSpool(root, 'dead');
  left.append({ sessionId: 's1', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
  const aliveAt = new Date('2026-01-01T00:00:30Z');
  left.touch(aliveAt);
  await left.close();
  const sink = new MemorySink();
  const workerDead = vi.spyOn(sink, 'workerDead');
  const { hub } = createTestHub({ clock: systemClock, logger, sink });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const link = serveWorkerLink(server, hub, TOKEN);
  onTestFinished(async () => {
    await link.close();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const spool = await openSpool(root, 'heir');
  connect(url, systemClock, spool, await adoptSpools(root));
  await vi.waitFor(() => expect(sink.stored).toHaveLength(1));
  await vi.waitFor(() => expect(workerDead).toHaveBeenCalledWith('dead', aliveAt, undefined));
});

it('a worker notes in its spool every second that it is alive, connected or not', async () => {
  const root = await spoolRoot();
  const clock = new ManualClock();
  connect('http://127.0.0.1:9', clock, await openSpool(root, 'heir'), new Map());
  await clock.advance(1_000);
  const file = join(root, 'heir', 'alive');
  await vi.waitFor(async () => expect((await stat(file)).mtime).toEqual(new Date(clock.wallTime())));
});
