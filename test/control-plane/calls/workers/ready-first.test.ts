import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import { SharedReplicas } from '#control-plane/calls/workers/other-replicas.ts';
import { SpeakingAgents } from '#control-plane/calls/workers/speaking-agents.ts';
import { WorkerDispatch } from '#control-plane/calls/workers/worker-dispatch.ts';
import { WorkerHub } from '#control-plane/calls/workers/worker-hub.ts';
import type { Dispatch, JobOffer } from '#control-plane/platform/dispatch.ts';
import { createMemoryCoordination } from '#control-plane/platform/store/coordination.ts';
import { MemorySink } from '#test/fakes/memory-sink.ts';
import { createTestHub } from '#test/fakes/test-hub.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

/** A worker of the test. */
interface ReadyWorker {
  readonly name: string;
  readonly freeSlots: number;
  /** Absent: it is of an older version. */
  readonly isReady?: boolean;
  readonly declines?: boolean;
}

/** A replica's end of the worker link. */
async function serve(hub: WorkerHub): Promise<Server> {
  const server = createServer();
  new WebSocketServer({ server }).on('connection', (socket) => hub.accept(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await hub.close();
    server.close();
  });
  return server;
}

/** Connects a worker; the returned function sends a heartbeat that says whether it is ready. */
async function connect(
  server: Server,
  workers: ConnectedWorkers,
  { name, freeSlots, isReady, declines = false }: ReadyWorker,
): Promise<(isReady: boolean) => void> {
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => socket.terminate());
  const send = (message: object) => socket.send(JSON.stringify(message));
  socket.on('message', (data) => {
    const { type, session_id, epoch } = JSON.parse(String(data));
    const answer = declines ? { type: 'decline', reason: 'full' } : { type: 'accept' };
    if (type === 'offer') send({ ...answer, session_id, epoch });
  });
  await new Promise((resolve) => socket.once('open', resolve));
  send({
    type: 'register',
    link_version: 1,
    instance_id: name,
    supervisor_run: null,
    capacity: freeSlots,
    codecs: [],
    sip_tag: null,
    kinds: ['phone', 'web'],
    sessions: [],
    spools_of: [],
    ...(isReady === undefined ? {} : { web_ready: isReady }),
  });
  await vi.waitFor(() => expect(workers.has(name)).toBe(true));
  return (isReadyNow) =>
    send({ type: 'heartbeat', calls: 0, free_slots: freeSlots, loop_lag_p95_ms: 0, web_ready: isReadyNow });
}

async function placed(dispatch: Dispatch, offer: Partial<JobOffer> = {}): Promise<string> {
  const call = { sessionId: 's', epoch: 1, kind: 'web', sipCallId: null } as const;
  return (await dispatch.place({ ...call, ...offer })).instanceId;
}

const STARTING = { name: 'starting', freeSlots: 900, isReady: false };
const READY = { name: 'ready', freeSlots: 100, isReady: true };

describe('a web call', () => {
  let dispatch: Dispatch;
  let add: (worker: ReadyWorker) => Promise<(isReady: boolean) => void>;

  beforeEach(async () => {
    const hub = createTestHub({ clock: systemClock, logger, sink: new MemorySink() });
    dispatch = hub.dispatch;
    const server = await serve(hub.hub);
    add = (worker) => connect(server, hub.workers, worker);
  });

  it('goes to a worker that is ready rather than to one with more free slots', async () => {
    await add(STARTING);
    await add(READY);
    expect(await placed(dispatch)).toBe('ready');
  });

  it('goes to the worker with most free slots once that one says that it is ready', async () => {
    const say = await add(STARTING);
    await add(READY);
    say(true);
    await vi.waitFor(async () => expect(await placed(dispatch)).toBe('starting'));
  });

  it('goes to a worker that is not ready if no other one is there, or takes it', async () => {
    await add(STARTING);
    expect(await placed(dispatch)).toBe('starting');
    await add({ ...READY, declines: true });
    expect(await placed(dispatch)).toBe('starting');
  });

  it('that can wait goes to no worker that is not ready', async () => {
    const say = await add(STARTING);
    await expect(placed(dispatch, { needsReady: true })).rejects.toMatchObject({ code: 'no_capacity' });
    say(true);
    await vi.waitFor(async () => expect(await placed(dispatch, { needsReady: true })).toBe('starting'));
  });

  it('goes to a worker of an older version, which does not say whether it is ready', async () => {
    await add(STARTING);
    await add({ name: 'older', freeSlots: 100 });
    expect(await placed(dispatch)).toBe('older');
  });

  it('is the only kind for which that counts', async () => {
    await add(STARTING);
    await add(READY);
    expect(await placed(dispatch, { kind: 'phone' })).toBe('starting');
  });
});

describe('a web call of two replicas', () => {
  /** Replicas that share a coordination, each with one worker. */
  async function replicasWith(...theirs: readonly ReadyWorker[]): Promise<readonly WorkerDispatch[]> {
    const coordination = createMemoryCoordination(systemClock);
    onTestFinished(() => coordination.close());
    const dispatches: WorkerDispatch[] = [];
    for (const worker of theirs) {
      const workers = new ConnectedWorkers(logger);
      const others = new SharedReplicas({ coordination, clock: systemClock, logger, own: workers });
      const speaking = new SpeakingAgents(systemClock);
      const dispatch = new WorkerDispatch({ workers, others, speaking });
      const hub = new WorkerHub({
        ...{ clock: systemClock, logger, sink: new MemorySink() },
        ...{ workers, others, speaking, dispatch, speechModels: () => [], hasRooms: false },
      });
      await others.join();
      onTestFinished(() => others.close());
      await connect(await serve(hub), workers, worker);
      dispatches.push(dispatch);
    }
    const isKnown = (dispatch: WorkerDispatch) => theirs.every(({ name }) => dispatch.isConnected(name));
    await vi.waitFor(() => expect(dispatches.every(isKnown)).toBe(true));
    return dispatches;
  }

  it('goes to the ready worker of either of them', async () => {
    for (const dispatch of await replicasWith(STARTING, READY)) expect(await placed(dispatch)).toBe('ready');
  });

  it('goes to a worker of either of them that is not ready if no ready one takes it', async () => {
    for (const dispatch of await replicasWith(STARTING, { ...READY, declines: true }))
      expect(await placed(dispatch)).toBe('starting');
  });

  it('that can wait goes to no worker that is not ready', async () => {
    for (const dispatch of await replicasWith(STARTING, { ...READY, declines: true }))
      await expect(placed(dispatch, { needsReady: true })).rejects.toMatchObject({ code: 'no_capacity' });
  });
});
