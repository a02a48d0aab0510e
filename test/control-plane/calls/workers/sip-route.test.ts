import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { SipRoute } from '#control-plane/platform/dispatch.ts';
import { MemorySink } from '#test/fakes/memory-sink.ts';
import { createTestHub, type TestHub } from '#test/fakes/test-hub.ts';

/** Workers of which each is connected to some of the SIP servers only. */
describe('a phone call', () => {
  let hub: TestHub;
  let server: Server;
  let sockets: WebSocket[];

  beforeEach(async () => {
    sockets = [];
    hub = createTestHub({
      clock: systemClock,
      logger: createLogger({ level: 'silent', name: 'test' }),
      sink: new MemorySink(),
    });
    server = createServer();
    new WebSocketServer({ server }).on('connection', (socket) => hub.hub.accept(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    for (const socket of sockets) socket.terminate();
    await hub.hub.close();
    server.close();
  });

  /** Connects a worker that accepts every offer; the returned function sends it a new list of servers. */
  async function connect(
    name: string,
    freeSlots: number,
    servers?: readonly string[],
  ): Promise<(servers: readonly string[]) => void> {
    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    sockets.push(socket);
    const send = (message: object) => socket.send(JSON.stringify(message));
    socket.on('message', (data) => {
      const { type, session_id, epoch } = JSON.parse(String(data));
      if (type === 'offer') send({ type: 'accept', session_id, epoch });
    });
    await new Promise((resolve) => socket.once('open', resolve));
    send({
      type: 'register',
      link_version: 1,
      instance_id: name,
      supervisor_run: null,
      capacity: freeSlots,
      codecs: [],
      sip_tag: `tag-of-${name}`,
      kinds: ['phone'],
      sessions: [],
      spools_of: [],
      ...(servers ? { sip_servers: servers } : {}),
    });
    await vi.waitFor(() => expect(hub.workers.has(name)).toBe(true));
    return (changed) =>
      send({ type: 'heartbeat', calls: 0, free_slots: freeSlots, loop_lag_p95_ms: 0, sip_servers: changed });
  }

  const placed = async (route: SipRoute | null) =>
    (await hub.dispatch.place({ sessionId: 's', epoch: 1, kind: 'phone', sipCallId: 'c', route })).instanceId;
  const through = (server: string | null) => placed({ workerTags: null, server });

  it('goes only to a worker that its SIP server says is connected to it', async () => {
    await connect('elsewhere', 900);
    await connect('there', 100);
    const withWorkers = (workerTags: readonly string[]) => placed({ workerTags, server: null });
    expect(await withWorkers(['tag-of-there', 'tag-of-nobody'])).toBe('there');
    await expect(withWorkers([])).rejects.toMatchObject({ code: 'no_capacity' });
  });

  it('of a server that does not say so goes only to a worker that names the server', async () => {
    const report = await connect('both', 900, ['a:9022', 'b:9022']);
    await connect('one', 100, ['b:9022']);
    expect(await through('a:9022')).toBe('both');
    expect(await through('b:9022')).toBe('both');
    report(['a:9022']);
    await vi.waitFor(async () => expect(await through('b:9022')).toBe('one'));
    report([]);
    await vi.waitFor(() => expect(through('a:9022')).rejects.toMatchObject({ code: 'no_capacity' }));
  });

  it('goes to the worker with most free slots if neither says anything', async () => {
    await connect('free', 900);
    await connect('one', 100, ['b:9022']);
    expect(await through(null)).toBe('free');
    expect(await placed(null)).toBe('free');
    // A worker of an older version may be connected to any server.
    expect(await through('a:9022')).toBe('free');
  });
});
