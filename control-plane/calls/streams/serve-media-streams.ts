/**
 * Serves media streams on the HTTP servers of a control plane: vendors connect with a ticket, workers with
 * their token. Both connections of a stream must end at the same replica: a worker that has come to another
 * one is sent away, and tries again.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { MAX_STREAM_MESSAGE_BYTES, WORKER_STREAM_PATH } from '#protocol/media-streams.ts';
import type { Context } from '../../platform/context.ts';
import { claimWorkersUpgrade } from '../../platform/http/internal-access.ts';
import { claimUpgrade, refuseUpgrade } from '../../platform/http/upgrades.ts';
import { StreamRelay } from './stream-relay.ts';
import { redeemTicket, VENDOR_STREAM_PATH } from './stream-ticket.ts';

const CHANNEL = 'media-streams';
/** `here`: this replica has the vendor of the session; `where`: it has its worker, and asks who has. */
const news = z.object({ is: z.enum(['here', 'where']), session: z.string(), replica: z.string() });

/** The parts of the control plane that media streams need. */
export type StreamContext = Pick<
  Context,
  'clock' | 'logger' | 'coordination' | 'credentials' | 'secretBox' | 'publicAddress'
>;

/** Serves them on these servers. */
export function serveMediaStreams(
  context: StreamContext,
  on: { readonly vendors: Server; readonly workers: readonly Server[] },
): Pick<MediaStreams, 'close'> {
  const streams = new MediaStreams(context);
  streams.serveVendors(on.vendors);
  for (const server of on.workers) streams.serveWorkers(server);
  return streams;
}

/** The media streams of this replica. */
class MediaStreams {
  readonly #context: StreamContext;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_STREAM_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  readonly #relays = new Map<string, StreamRelay>();
  readonly #unclaim: (() => void)[] = [];
  readonly #replica = randomUUID();
  readonly #subscribed: Promise<() => Promise<void>>;

  constructor(context: StreamContext) {
    this.#context = context;
    this.#subscribed = context.coordination.subscribe(CHANNEL, (message) => this.#hear(message));
  }

  /** Accepts the connections of workers on a server. */
  serveWorkers(server: Server): void {
    const { workerToken } = this.#context.credentials;
    this.#unclaim.push(
      claimWorkersUpgrade(server, `${WORKER_STREAM_PATH}*`, {
        workerToken,
        upgrade: (request, socket, head) =>
          this.#sockets.handleUpgrade(request, socket, head, (connection) =>
            this.#acceptWorker(lastSegment(request), connection),
          ),
      }),
    );
  }

  /** Accepts the connections of vendors on a server. */
  serveVendors(server: Server): void {
    const path = `${VENDOR_STREAM_PATH}*`;
    this.#unclaim.push(
      claimUpgrade(server, path, (request, socket, head) => {
        this.#acceptVendor(request, socket, head).catch((error: unknown) => {
          this.#context.logger.error({ err: error }, 'failed to accept a media stream');
          refuseUpgrade(socket, 500);
        });
      }),
    );
  }

  async #acceptVendor(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const sessionId = await redeemTicket(this.#context, lastSegment(request));
    if (socket.destroyed) return;
    if (sessionId === null) {
      refuseUpgrade(socket, 403);
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (connection) => {
      this.#relayOf(sessionId).setVendor(connection);
      this.#say('here', sessionId);
    });
  }

  #acceptWorker(sessionId: string, connection: WebSocket): void {
    const relay = this.#relayOf(sessionId);
    relay.setWorker(connection);
    if (!relay.hasVendor) this.#say('where', sessionId);
  }

  #say(is: z.output<typeof news>['is'], session: string): void {
    void this.#context.coordination.publish(CHANNEL, { is, session, replica: this.#replica });
  }

  /** Hears another replica, which says where a vendor is, or that it has its worker. */
  #hear(message: unknown): void {
    // A replica of another version may say more.
    const heard = news.safeParse(message);
    if (!heard.success || heard.data.replica === this.#replica) return;
    const { is, session } = heard.data;
    const relay = this.#relays.get(session);
    if (!relay) return;
    if (is === 'where' && relay.hasVendor) this.#say('here', session);
    if (is === 'here' && !relay.hasVendor) relay.end('elsewhere');
  }

  /** Ends every stream. */
  async close(): Promise<void> {
    for (const unclaim of this.#unclaim) unclaim();
    for (const relay of [...this.#relays.values()]) relay.end('closing');
    this.#sockets.close();
    await (await this.#subscribed)();
  }

  /** The stream of a session, which begins with the first side that comes. */
  #relayOf(sessionId: string): StreamRelay {
    const known = this.#relays.get(sessionId);
    if (known) return known;
    const { clock, logger } = this.#context;
    const relay = new StreamRelay({
      clock,
      onEnd: (why) => {
        this.#relays.delete(sessionId);
        logger.info({ sessionId, why }, 'a media stream ended');
      },
    });
    this.#relays.set(sessionId, relay);
    return relay;
  }
}

function lastSegment({ url = '' }: IncomingMessage): string {
  const path = url.split('?', 1)[0] ?? '';
  return path.slice(path.lastIndexOf('/') + 1);
}
