import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { createLogger, type Logger } from '#base/log.ts';
import { serveWorkerLink } from '#control-plane/calls/workers/worker-link-server.ts';
import { type ControlPlaneClient, connectControlPlane } from '#runtime/link/control-plane-client.ts';
import { adoptSpools, openSpool, type Spool } from '#runtime/link/spool.ts';
import { watchSpools } from '#runtime/link/watch-spools.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { MemorySink } from '../../../fakes/memory-sink.ts';
import { createTestHub } from '../../../fakes/test-hub.ts';

const TOKEN = 'a-token-of-the-workers';
const logger = createLogger({ level: 'silent', name: 'test' });

/** As long as a busy machine may need. */
function until(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 10_000 });
}

/** A directory of spools. */
async function spoolRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'parley-deaths-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

/** Where a hub is, and the clock that it shares with its workers. */
interface HubPlace {
  readonly url: string;
  readonly clock: ManualClock;
}

interface ConnectOptions {
  readonly adopted?: ReadonlyMap<string, Spool>;
  readonly instanceId?: string;
}

/** Connects a worker with these spools. */
function connect({ url, clock }: HubPlace, spool: Spool, options: ConnectOptions = {}): ControlPlaneClient {
  const { adopted = new Map(), instanceId = 'heir' } = options;
  const client = connectControlPlane({
    url,
    token: TOKEN,
    clock,
    logger,
    spool,
    adopted,
    facts: () => ({
      instanceId,
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
  return client;
}

interface HubOptions {
  readonly holdsElsewhere?: (instanceId: string) => boolean;
  readonly logger?: Logger;
}

/** A hub on a port of its own. Only the test advances its time. */
async function serveHub(options: HubOptions = {}) {
  const clock = new ManualClock();
  const sink = new MemorySink();
  const workerDead = vi.spyOn(sink, 'workerDead');
  const { hub } = createTestHub({ clock, logger, sink, ...options });
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const link = serveWorkerLink(server, hub, TOKEN);
  onTestFinished(async () => {
    const closed = link.close();
    // Whatever a failed test has left unsettled.
    await clock.advance(20_000);
    await closed;
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, clock, sink, workerDead, hub };
}

it('the calls of a dead worker are settled when the database is back', async () => {
  const clock = new ManualClock();
  const sink = new MemorySink();
  const workerDead = vi.spyOn(sink, 'workerDead').mockRejectedValueOnce(new Error('the database is away'));
  const { hub } = createTestHub({ clock, logger, sink });
  const settled = hub.workerDied('gone', { isReplaced: true });
  // Time for its spool, then the pause between two attempts.
  await clock.advance(1_500);
  await until(() => expect(workerDead).toHaveBeenCalledTimes(1));
  await clock.advance(1_000);
  await settled;
  expect(sink.events).toEqual(['dead gone']);
  await hub.close();
});

it('a worker found dead later died when it last touched its spool, and not when that is read', async () => {
  const root = await spoolRoot();
  const left = await openSpool(root, 'dead');
  left.append({ sessionId: 's1', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
  const aliveAt = new Date('2025-12-31T23:59:30Z');
  left.touch(aliveAt);
  await left.close();
  const { sink, workerDead, ...hub } = await serveHub();
  const spool = await openSpool(root, 'heir');
  connect(hub, spool, { adopted: await adoptSpools(root) });
  await until(() => expect(sink.stored).toHaveLength(1));
  await until(() => expect(workerDead).toHaveBeenCalledWith('dead', aliveAt, undefined));
});

it('a worker that dies beside others in one folder is found dead by them, and its reports are sent', async () => {
  const root = await spoolRoot();
  const { sink, workerDead, ...hub } = await serveHub();
  const client = connect(hub, await openSpool(root, 'heir'));
  await client.connected(10_000);
  const [earlier, peer] = [await openSpool(root, 'earlier'), await openSpool(root, 'peer')];
  for (const spool of [earlier, peer])
    spool.append({ sessionId: 's1', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
  // What the kernel does for a process that dies.
  await earlier.close();
  const left = vi.fn();
  const watch = watchSpools({
    ...{ clock: hub.clock, logger, root, instanceId: 'heir' },
    onLeft: (spools) => {
      left([...spools.keys()]);
      client.adopt(spools);
    },
  });
  onTestFinished(() => watch.cancel());
  // This look leaves the living alone.
  await hub.clock.advance(250);
  await until(() => expect(left.mock.calls).toEqual([[['earlier']]]));
  await peer.close();
  await hub.clock.advance(250);
  await until(() => expect(left.mock.calls).toEqual([[['earlier']], [['peer']]]));
  await until(() => expect(workerDead).toHaveBeenCalledWith('peer', expect.any(Date), undefined));
  expect(sink.stored).toHaveLength(1);
});

/** A worker beside a peer that has left its spool. The result has the hub told that the worker took it. */
async function takenSpool({ sink, ...hub }: HubPlace & { readonly sink: MemorySink }) {
  const root = await spoolRoot();
  const spool = await openSpool(root, 'peer');
  spool.append({ sessionId: 's1', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
  await spool.close();
  const heir = connect(hub, await openSpool(root, 'heir'));
  await heir.connected(10_000);
  const left = await adoptSpools(root, { own: 'heir' });
  return async () => {
    heir.adopt(left);
    await until(async () => expect(await readdir(root)).toEqual(['heir']));
    // Arrives behind the message that the spool was read.
    heir.report({ sessionId: 's2', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:01Z' });
    await until(() => expect(sink.stored.map((one) => one.session_id)).toEqual(['s1', 's2']));
  };
}

/** The link of a peer that answers no ping. */
async function openSilentLink(url: string, instanceId: string, supervisorRun: string | null = null) {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const socket = new WebSocket(`${url}/internal/worker-link`, { headers, autoPong: false });
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  const supervision = { instance_id: instanceId, supervisor_run: supervisorRun };
  const facts = { capacity: 1, codecs: [], sip_tag: null, kinds: ['web'], sessions: [], spools_of: [] };
  socket.send(JSON.stringify({ type: 'register', ...supervision, ...facts, link_version: 1 }));
  await once(socket, 'message');
  return socket;
}

it('a worker whose link is still open, but does not answer, is dead once another one has its spool', async () => {
  const { workerDead, ...hub } = await serveHub();
  const take = await takenSpool(hub);
  const silent = await openSilentLink(hub.url, 'peer');
  const asked = vi.fn();
  silent.on('ping', asked);
  await take();
  await until(() => expect(asked).toHaveBeenCalled());
  await hub.clock.advance(999);
  expect(workerDead).not.toHaveBeenCalled();
  await hub.clock.advance(1);
  await until(() => expect(workerDead).toHaveBeenCalledWith('peer', expect.any(Date), undefined));
});

it('a worker whose link answers is alive, whoever has its spool', async () => {
  const listening = createLogger({ level: 'silent', name: 'test' });
  const error = vi.spyOn(listening, 'error');
  const { workerDead, ...hub } = await serveHub({ logger: listening });
  const take = await takenSpool(hub);
  const peer = connect(hub, await openSpool(await spoolRoot(), 'peer'), { instanceId: 'peer' });
  await peer.connected(10_000);
  await take();
  await until(() => expect(error).toHaveBeenCalledWith({ instanceId: 'peer' }, expect.any(String)));
  // As long as a worker has for its answer.
  await hub.clock.advance(1_000);
  expect(workerDead).not.toHaveBeenCalled();
  expect(peer.isConnected).toBe(true);
});

it('a worker that another replica hears is dead only once its link there is closed', async () => {
  let isHeld = true;
  const holdsElsewhere = vi.fn((id: string) => id === 'peer' && isHeld);
  const { workerDead, ...hub } = await serveHub({ holdsElsewhere });
  const take = await takenSpool(hub);
  await take();
  await hub.clock.advance(500);
  expect(holdsElsewhere.mock.calls.filter(([id]) => id === 'peer').length).toBeGreaterThan(5);
  expect(workerDead).not.toHaveBeenCalled();
  isHeld = false;
  await hub.clock.advance(100);
  await until(() => expect(workerDead).toHaveBeenCalledWith('peer', expect.any(Date), undefined));
});

it('the death of a supervised worker is left to its supervisor, which knows the cause', async () => {
  const { workerDead, hub, ...place } = await serveHub();
  const take = await takenSpool(place);
  await openSilentLink(place.url, 'peer', 'run 1');
  await take();
  // As long as a worker has for its answer.
  await place.clock.advance(1_000);
  expect(workerDead).not.toHaveBeenCalled();
  const settled = hub.workerDied('peer', { isReplaced: true, hungIn: 's1' });
  // Time for its spool.
  await place.clock.advance(1_500);
  await settled;
  expect(workerDead.mock.calls).toEqual([['peer', expect.any(Date), 's1']]);
});

it('a worker that registers after it was taken for dead may die once more', async () => {
  const { url, clock, workerDead, hub } = await serveHub();
  await hub.workerDied('peer', { isReplaced: false });
  const socket = await openSilentLink(url, 'peer');
  const settled = hub.workerDied('peer', { isReplaced: false });
  await clock.advance(1_500);
  await settled;
  expect(workerDead).toHaveBeenCalledTimes(2);
  await until(() => expect(socket.readyState).toBe(socket.CLOSED));
});

it('a worker notes in its spool every second that it is alive, connected or not', async () => {
  const root = await spoolRoot();
  const clock = new ManualClock();
  connect({ url: 'http://127.0.0.1:9', clock }, await openSpool(root, 'heir'));
  await clock.advance(1_000);
  const file = join(root, 'heir', 'alive');
  await until(async () => expect((await stat(file)).mtime).toEqual(new Date(clock.wallTime())));
});
