import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { Fault } from '#config/errors.ts';
import { serveWorkerLink } from '#control-plane/calls/workers/worker-link-server.ts';
import type { ControlMessage, DurableReport } from '#protocol/worker-link.ts';
import { type ControlPlaneClient, connectControlPlane } from '#runtime/link/control-plane-client.ts';
import { adoptSpools, openSpool, type Spool } from '#runtime/link/spool.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { MemorySink } from '../../../fakes/memory-sink.ts';
import { SILENT_MEDIA_QUALITY } from '../../../fakes/silent-media-quality.ts';
import { SlowTicks } from '../../../fakes/slow-ticks.ts';
import { createTestHub, type TestHub } from '../../../fakes/test-hub.ts';
import { accepting, declining, offer } from './scripted-answers.ts';

const TOKEN = 'a-token-of-the-workers';
const REPLACED = { isReplaced: true };
const logger = createLogger({ level: 'silent', name: 'test' });
const ended = (reason: 'user_hangup' | 'agent_hangup') =>
  ({ type: 'ended', at: '2026-01-01T00:00:00Z', end_reason: reason }) as const;

describe('the worker link', () => {
  let server: Server;
  let testHub: TestHub;
  let sink: MemorySink;
  let url: string;
  let directory: string;
  let closeLink: () => Promise<void>;
  /** Speech models of the control plane. */
  let speechModels: string[] = [];
  const slow = new SlowTicks();
  const clients: ControlPlaneClient[] = [];
  const spools: Spool[] = [];
  const connections = new Set<Socket>();

  beforeEach(async () => {
    sink = new MemorySink();
    speechModels = [];
    testHub = createTestHub({ clock: slow.clock, logger, sink, speechModels: () => speechModels });
    server = createServer();
    server.on('connection', (socket) => connections.add(socket));
    closeLink = serveWorkerLink(server, testHub.hub, TOKEN).close;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    directory = await mkdtemp(join(tmpdir(), 'parley-link-'));
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await closeLink();
    server.close();
    for (const spool of spools.splice(0)) await spool.close();
    await rm(directory, { recursive: true, force: true });
  });

  /** Cuts every connection, as a network failure does. */
  function cutLinks(): void {
    for (const socket of connections) socket.destroy();
    connections.clear();
  }

  async function connect(
    instanceId: string,
    onMessage: (message: ControlMessage, client: ControlPlaneClient) => void,
    options: { adopts?: boolean; capacity?: number; token?: string; clock?: Clock } = {},
  ) {
    const spool = await openSpool(directory, instanceId);
    spools.push(spool);
    const adopted = options.adopts === true ? await adoptSpools(directory) : new Map<string, Spool>();
    const client: ControlPlaneClient = connectControlPlane({
      url,
      token: options.token ?? TOKEN,
      clock: options.clock ?? systemClock,
      logger,
      spool,
      adopted,
      facts: () => ({
        instanceId,
        supervisorRun: null,
        capacity: options.capacity ?? 2,
        codecs: ['PCMU'],
        sipTag: instanceId,
        sipServers: [],
        kinds: ['phone', 'web'],
        sessions: [],
      }),
      load: () => ({ calls: 0, freeSlots: options.capacity ?? 2, loopLagMs: 0 }),
      onMessage: (message) => onMessage(message, client),
      onAlone: () => undefined,
    });
    clients.push(client);
    return { client, spool };
  }

  it('a job goes to the next worker when the first declines', async () => {
    await connect('busy', declining, { capacity: 9 });
    await connect('free', accepting);
    await vi.waitFor(() => expect(testHub.workers.describe()).toHaveLength(2));
    expect((await testHub.dispatch.place(offer('s1'))).instanceId).toBe('free');
  });

  it('a worker that does not answer an offer is skipped, and instructed to free the slot', async () => {
    const received: string[] = [];
    await connect('mute', (message) => received.push(message.type), { capacity: 9 });
    await connect('free', accepting);
    await vi.waitFor(() => expect(testHub.workers.describe()).toHaveLength(2));
    expect((await testHub.dispatch.place(offer('s1'))).instanceId).toBe('free');
    await vi.waitFor(() => expect(received).toContain('withdraw'));
  });

  it('a worker with a slow event loop gets extra time when all others have declined', async () => {
    const answers: (() => void)[] = [];
    await connect(
      'late',
      (message, client) => void (message.type === 'offer' && answers.push(() => accepting(message, client))),
      { capacity: 9 },
    );
    await connect('full', declining);
    await vi.waitFor(() => expect(testHub.workers.describe()).toHaveLength(2));
    const placed = testHub.dispatch.place(offer('s1'));
    await vi.waitFor(() => expect(answers).toHaveLength(2), { timeout: 2_000 });
    answers.at(-1)?.();
    expect((await placed).instanceId).toBe('late');
  });

  it('a worker whose clock differs by more than 5 s is registered with a warning', async () => {
    const warn = vi.spyOn(logger, 'warn');
    for (const ms of [2_000, 60_000])
      await connect(`${ms}`, accepting, { clock: { ...systemClock, wallTime: () => Date.now() + ms } });
    await vi.waitFor(() => expect(testHub.workers.describe()).toHaveLength(2));
    const ahead = expect.stringMatching(/(59|60)\.\d s ahead of/);
    expect(warn.mock.calls).toEqual([[{ instanceId: '60000' }, ahead]]);
    warn.mockRestore();
  });

  it('a worker learns which speech models the control plane has when it registers, and of each later one', async () => {
    const announced: string[][] = [];
    const note = (message: ControlMessage) => {
      if (message.type === 'speech_models') announced.push(message.models);
    };
    await connect('early', note);
    await vi.waitFor(() => expect(testHub.workers.describe()).toHaveLength(1));
    testHub.dispatch.announceSpeechModels(['english']);
    await vi.waitFor(() => expect(announced).toEqual([['english']]));
    speechModels = ['english', 'german'];
    await connect('late', note);
    await vi.waitFor(() => expect(announced).toEqual([['english'], ['english', 'german']]));
  });

  it('a connected worker learns of a speech model that was installed by hand', async () => {
    const announced: string[][] = [];
    await connect('early', (message) => {
      if (message.type === 'speech_models') announced.push(message.models);
    });
    await vi.waitFor(() => expect(testHub.workers.describe()).toHaveLength(1));
    slow.tick();
    speechModels = ['english'];
    slow.tick();
    await vi.waitFor(() => expect(announced).toEqual([['english']]));
  });

  it('without a free worker, a job is rejected with 503', async () => {
    await expect(testHub.dispatch.place(offer('s1'))).rejects.toSatisfy(
      (error) => error instanceof Fault && error.code === 'no_capacity' && error.status === 503,
    );
  });

  it('a worker with a wrong token is rejected', async () => {
    await connect('stranger', accepting, { token: 'not-the-token-of-workers' });
    await connect('known', accepting);
    await vi.waitFor(() =>
      expect(testHub.workers.describe().map((worker) => worker.instanceId)).toEqual(['known']),
    );
  });

  it('a report is kept until it is acknowledged, even when the store fails once', async () => {
    sink.failures = 1;
    const { client, spool } = await connect('w', accepting);
    await vi.waitFor(() => expect(client.isConnected).toBe(true));
    client.report({ sessionId: 's1', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
    client.report({ sessionId: 's1', epoch: 1 }, ended('user_hangup'));
    await vi.waitFor(() => expect(spool.waiting()).toEqual([]), { timeout: 5_000 });
    expect(sink.stored.map((envelope) => envelope.report.type)).toEqual(['joined', 'ended']);
  });

  it('the figures of a turn are sent with its words, and stored together', async () => {
    const { client, spool } = await connect('w', accepting);
    await vi.waitFor(() => expect(client.isConnected).toBe(true));
    const session = { sessionId: 's1', epoch: 1 };
    const usage = {
      type: 'usage',
      turn_id: 1,
      model: 'm',
      input_tokens: 1,
      cached_input_tokens: null,
      output_tokens: 1,
      discarded_output_tokens: 0,
    } as const;
    client.report(session, { type: 'joined', at: '2026-01-01T00:00:00Z' });
    await vi.waitFor(() => expect(spool.waiting()).toEqual([]));
    client.report(session, usage);
    expect(spool.waiting().map((envelope) => envelope.seq)).toEqual([2]);
    client.report(session, usage);
    client.report(session, { type: 'items', items: [] });
    await vi.waitFor(() => expect(spool.waiting()).toEqual([]), { timeout: 5_000 });
    expect(sink.counts).toEqual([1, 3]);
    expect(sink.stored.map((envelope) => envelope.seq)).toEqual([1, 2, 3, 4]);
  });

  it('figures alone are sent with the heartbeat, and at once when the call ends', async () => {
    const { client, spool } = await connect('w', accepting);
    await vi.waitFor(() => expect(client.isConnected).toBe(true));
    const figures: DurableReport = { type: 'recording', tracks: [] };
    client.report({ sessionId: 's1', epoch: 1 }, figures);
    await vi.waitFor(() => expect(spool.waiting()).toEqual([]), { timeout: 10_000 });
    client.report({ sessionId: 's1', epoch: 1 }, figures);
    client.report({ sessionId: 's1', epoch: 1 }, ended('user_hangup'));
    await vi.waitFor(() => expect(spool.waiting()).toEqual([]), { timeout: 10_000 });
    expect(sink.stored.map((envelope) => envelope.report.type)).toEqual(['recording', 'recording', 'ended']);
  });

  it('the reason why a caller is unheard is sent at once, before any heartbeat', async () => {
    const { client, spool } = await connect('w', accepting, { clock: new ManualClock() });
    await vi.waitFor(() => expect(client.isConnected).toBe(true));
    const quality = {
      ...SILENT_MEDIA_QUALITY,
      unheard: { expected_address: '192.0.2.1', refused_addresses: [] },
    };
    client.report({ sessionId: 's1', epoch: 1 }, { type: 'media', quality });
    await vi.waitFor(() => expect(spool.waiting()).toEqual([]), { timeout: 10_000 });
    expect(sink.stored.map((envelope) => envelope.report)).toMatchObject([{ type: 'media', quality }]);
  });

  it('reports of a worker are stored before its loss is reported', async () => {
    const { client } = await connect('w', accepting);
    await vi.waitFor(() => expect(client.isConnected).toBe(true));
    client.report({ sessionId: 's1', epoch: 1 }, { type: 'items', items: [] });
    const storedAtLoss = new Promise<number>((resolve) => {
      vi.spyOn(sink, 'workerDead').mockImplementation(async () => resolve(sink.stored.length));
    });
    // The link preserves order: when the offer is answered, the report has arrived.
    await testHub.dispatch.place(offer('s2'));
    await testHub.hub.workerDied('w', REPLACED);
    expect(await storedAtLoss).toBe(1);
  });

  it('reports made while the link is down arrive in order after reconnecting', async () => {
    const { client } = await connect('w', accepting);
    await vi.waitFor(() => expect(client.isConnected).toBe(true));
    sink.slowLossMs = 300;
    cutLinks();
    await vi.waitFor(() => expect(client.isConnected).toBe(false));
    client.report({ sessionId: 's1', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
    client.report({ sessionId: 's1', epoch: 1 }, ended('agent_hangup'));
    await vi.waitFor(() => expect(sink.stored).toHaveLength(2), { timeout: 5_000 });
    // The loss is reported first, even when that takes longer than the worker's return; otherwise its
    // sessions would stay unknown.
    await vi.waitFor(() => expect(sink.events).toEqual(['back w []', 'lost w', 'back w []']));
  });

  it('a job accepted while the worker’s return is still being processed counts as running', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.storeIsReady = promise;
    await connect('w', accepting);
    await vi.waitFor(() => expect(testHub.dispatch.hasWorker()).toBe(true));
    await testHub.dispatch.place(offer('s1'));
    resolve();
    await vi.waitFor(() => expect(sink.cameBackWith).toEqual([['s1']]));
  });

  it('a return that cannot be settled is tried again', async () => {
    sink.backFailures = 1;
    await connect('w', accepting);
    await vi.waitFor(() => expect(sink.events).toEqual(['back w []']));
    expect(testHub.workers.settledIds()).toEqual([]);
    await vi.waitFor(() => expect(testHub.workers.settledIds()).toEqual(['w']), { timeout: 5_000 });
  });

  it('a gap that cannot be filled is given up instead of being requested for ever', async () => {
    const left = await openSpool(directory, 'dead');
    left.append({ sessionId: 's1', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
    for (let turn = 0; turn < 20; turn++)
      left.append({ sessionId: 's1', epoch: 1 }, { type: 'items', items: [] });
    await left.close();
    const file = join(directory, 'dead', 'reports.jsonl');
    const lines = (await readFile(file, 'utf8')).split('\n');
    await writeFile(file, lines.toSpliced(1, 1, 'torn by a full disk').join('\n'));
    const settled = testHub.hub.workerDied('dead', REPLACED);
    const apply = vi.spyOn(sink, 'apply');
    await connect('heir', accepting, { adopts: true });
    await settled;
    expect(sink.stored.map((envelope) => envelope.report.type)).toEqual(['joined']);
    expect(apply.mock.calls.length).toBeLessThan(50);
    expect(sink.events).toContain('dead dead');
  });

  it('a command that throws in the worker does not end it', async () => {
    let offers = 0;
    await connect('w', (message, client) => {
      if (message.type !== 'offer') return;
      offers += 1;
      if (offers === 1) throw new Error('no engine for this plan');
      accepting(message, client);
    });
    await vi.waitFor(() => expect(testHub.dispatch.hasWorker()).toBe(true));
    await expect(testHub.dispatch.place(offer('s1'))).rejects.toMatchObject({ code: 'no_capacity' });
    expect((await testHub.dispatch.place(offer('s2'))).instanceId).toBe('w');
  });

  it('an unauthenticated upgrade that hangs up at once affects no other connection', async () => {
    for (const path of ['/internal/worker-link', '/elsewhere']) {
      const socket = connectTcp((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      const closed = once(socket, 'close');
      const upgrade = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
      socket.write(upgrade);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(String(answer)).toMatch(/^HTTP\/1\.1 40[14] /);
      await closed;
      const hasty = connectTcp((server.address() as AddressInfo).port, '127.0.0.1');
      await once(hasty, 'connect');
      hasty.write(upgrade, () => hasty.resetAndDestroy());
    }
    await connect('w', accepting);
    await vi.waitFor(() => expect(testHub.dispatch.hasWorker()).toBe(true));
  });

  it('reports of an old epoch are rejected and forgotten', async () => {
    const { client, spool } = await connect('w', accepting);
    client.report({ sessionId: 's1', epoch: 99 }, ended('agent_hangup'));
    await vi.waitFor(() => expect(spool.waiting()).toEqual([]));
    expect(sink.stored).toEqual([]);
  });

  it('a dead worker’s successor sends its spool before its sessions are settled', async () => {
    const left = await openSpool(directory, 'dead');
    left.append({ sessionId: 's1', epoch: 1 }, ended('agent_hangup'));
    await left.close();
    const settled = testHub.hub.workerDied('dead', REPLACED);
    await connect('heir', accepting, { adopts: true });
    await settled;
    expect(sink.stored.map((envelope) => envelope.session_id)).toEqual(['s1']);
    expect(sink.events).toContain('dead dead');
  });

  it('closing waits until nothing is being stored, so that the store may close next', async () => {
    const ready = Promise.withResolvers<void>();
    sink.storeIsReady = ready.promise;
    await connect('w', accepting);
    await vi.waitFor(() => expect(sink.events).toEqual(['back w []']));
    let isClosed = false;
    const closed = closeLink().then(() => {
      isClosed = true;
    });
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    ready.resolve();
    await closed;
    expect(sink.cameBackWith).toEqual([[]]);
  });

  it('closing settles a dead worker without its spool; later deaths are left to the next start', async () => {
    const settled = testHub.hub.workerDied('gone', REPLACED);
    await closeLink();
    expect(sink.events).toEqual(['dead gone']);
    await settled;
    await testHub.hub.workerDied('gone later', REPLACED);
    expect(sink.events).toEqual(['dead gone']);
  });

  it('a dead worker without a successor is settled as well', async () => {
    await testHub.hub.workerDied('gone', REPLACED);
    expect(sink.events).toEqual(['dead gone']);
  });

  it('without successors, a dead worker is settled without its spool, and no worker is expected', async () => {
    const settled = testHub.hub.workerDied('gone', REPLACED);
    expect(testHub.dispatch.expectsWorker()).toBe(true);
    await testHub.hub.workerDied('its successor', { isReplaced: false });
    await settled;
    expect(sink.events.toSorted()).toEqual(['dead gone', 'dead its successor']);
    expect(testHub.dispatch.expectsWorker()).toBe(false);
    await connect('w', accepting);
    await vi.waitFor(() => expect(testHub.dispatch.expectsWorker()).toBe(true));
  });

  it('no call is placed while the program stops', async () => {
    await connect('w', accepting);
    await vi.waitFor(() => expect(testHub.dispatch.hasWorker()).toBe(true));
    testHub.workers.drain();
    await expect(testHub.dispatch.place(offer('s1'))).rejects.toMatchObject({ code: 'draining' });
  });
});
