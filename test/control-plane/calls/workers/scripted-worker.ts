/** A scripted worker of several replicas of the control plane. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { ControlMessage } from '#protocol/worker-link.ts';
import { type ControlPlaneClient, connectControlPlane } from '#runtime/link/control-plane-client.ts';
import { openSpool, type Spool } from '#runtime/link/spool.ts';

/** The worker's token. */
export const TOKEN = 'a-token-of-the-workers';
const logger = createLogger({ level: 'silent', name: 'test' });

/** A worker that accepts every job over the real link, through an address that leads to either replica. */
export interface ScriptedWorker {
  readonly plans: string[];
  isFull: boolean;
  report(report: Parameters<ControlPlaneClient['report']>[1]): void;
  /** Routes its connections to this port from now on; null refuses them. */
  route(port: number | null): void;
  close(): Promise<void>;
}

/** Starts the worker `w1`; `now` gives the times of its reports. */
export async function startWorker(firstPort: number, now: () => string): Promise<ScriptedWorker> {
  let port: number | null = firstPort;
  const sockets = new Set<Socket>();
  const balancer = createTcpServer((socket) => {
    const target = port === null ? null : connectTcp(port, '127.0.0.1');
    for (const end of [socket, target]) {
      end
        ?.on('error', () => undefined)
        .on('close', () => {
          for (const each of [socket, target]) each?.destroy();
        });
    }
    sockets.add(socket);
    if (target) socket.pipe(target).pipe(socket);
    else socket.destroy();
  });
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  const directory = await mkdtemp(join(tmpdir(), 'parley-replicas-'));
  const spool: Spool = await openSpool(directory, 'w1');
  const running: { sessionId: string; epoch: number }[] = [];
  const plans: string[] = [];
  const scripted: ScriptedWorker = {
    plans,
    isFull: false,
    report: (report) => {
      const session = running.at(-1);
      if (session) client.report(session, report);
    },
    route: (to) => {
      port = to;
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    close: async () => {
      client.close();
      scripted.route(null);
      balancer.close();
      await spool.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  const onMessage = (message: ControlMessage) => {
    if (message.type === 'offer') {
      const session = { session_id: message.session_id, epoch: message.epoch };
      client.send(
        scripted.isFull ? { type: 'decline', ...session, reason: 'full' } : { type: 'accept', ...session },
      );
    } else if (message.type === 'assign') {
      plans.push(message.session_id);
      running.push({ sessionId: message.session_id, epoch: message.epoch });
    } else if (message.type === 'webrtc.offer') {
      client.send({
        type: 'answer',
        request_id: message.request_id,
        result: { ok: true, value: { sdp: `answer to ${message.sdp}` } },
      });
    } else if (message.type === 'end') {
      scripted.report({ type: 'ended', at: now(), end_reason: message.end_reason });
    }
  };
  const client: ControlPlaneClient = connectControlPlane({
    url: `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`,
    token: TOKEN,
    clock: systemClock,
    logger,
    spool,
    adopted: new Map(),
    facts: () => ({
      instanceId: 'w1',
      supervisorRun: null,
      capacity: 9,
      codecs: ['PCMU'],
      sipTag: 'w1',
      sipServers: [],
      kinds: ['phone', 'web'],
      sessions: running,
    }),
    load: () => ({ calls: running.length, freeSlots: 9, loopLagMs: 0 }),
    onMessage,
    onAlone: () => undefined,
  });
  return scripted;
}
