/**
 * `GET /v1/agent/events`: changes of a team's sessions, as Server-Sent Events. Each `session` event is the
 * row in the list of sessions. Changes arrive through the coordination of the replicas. A stream ends with
 * its key, and after a while.
 */
import type { ServerResponse } from 'node:http';
import { fault } from '#config/errors.ts';
import { onSessionChange } from '../../calls/sessions/publish-session-change.ts';
import { DETAIL_FIELDS, toSessionRecord } from '../../calls/sessions/session-record.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import {
  beginEventStream,
  eventText,
  HEARTBEAT,
  HEARTBEAT_MS,
  MAX_UNREAD_BYTES,
} from '../../platform/http/event-stream.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** Changes within this time are sent together: a busy call changes several times a second. */
const GATHER_MS = 250;
const LIFETIME_MS = 600_000;
/** Maximum streams per team and replica. */
const MAX_STREAMS = 50;
/** Maximum sessions per event batch; the console reloads its lists if more have changed. */
const MAX_TOLD = 100;

/** Registers the stream; every stream ends before the server closes. */
export function registerEventRoutes(app: ApiServer, context: Context): void {
  const streams = new Map<string, Set<EventStream>>();

  app.get(
    '/v1/agent/events',
    {
      schema: {
        tags: ['sessions'],
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const { teamId } = caller;
      // A client that left while its key was checked has no further `close` to give back what it takes.
      if (reply.raw.destroyed) return reply.hijack();
      const open = streams.get(teamId) ?? new Set();
      if (open.size >= MAX_STREAMS) throw fault('rate_limited', { seconds: LIFETIME_MS / 1000 });
      streams.set(teamId, open);
      reply.hijack();
      const stream = new EventStream(context, teamId, reply.raw);
      open.add(stream);
      const stopWatching = context.keyWatch.watch(caller, () => stream.close());
      reply.raw.once('close', () => {
        stopWatching();
        open.delete(stream);
        if (open.size === 0) streams.delete(teamId);
        stream.close();
      });
      await stream.start();
    },
  );

  app.addHook('preClose', async () => {
    for (const open of streams.values()) for (const stream of open) stream.close();
  });
}

/** The stream of one console. */
class EventStream {
  readonly #context: Context;
  readonly #teamId: string;
  readonly #response: ServerResponse;
  readonly #changed = new Set<string>();
  readonly #closing = new AbortController();

  constructor(context: Context, teamId: string, response: ServerResponse) {
    this.#context = context;
    this.#teamId = teamId;
    this.#response = response;
  }

  /** Writes the head and subscribes; never rejects. */
  async start(): Promise<void> {
    const { clock, coordination, logger } = this.#context;
    const { signal } = this.#closing;
    beginEventStream(this.#response);
    const end = clock.after(LIFETIME_MS, () => this.close());
    const heartbeat = clock.every(HEARTBEAT_MS, () => this.#write(HEARTBEAT));
    const gather = clock.every(GATHER_MS, () => {
      this.#sendChanges().catch((error: unknown) =>
        logger.debug({ err: error }, 'error on a session event stream'),
      );
    });
    signal.addEventListener('abort', () => {
      for (const timer of [end, heartbeat, gather]) timer.cancel();
    });
    try {
      const stop = await onSessionChange(coordination, this.#teamId, (sessionId) =>
        this.#changed.add(sessionId),
      );
      // Changes may have been missed: the client opens a new stream and reads everything again.
      const stopWatching = coordination.onGap(() => this.close());
      signal.addEventListener('abort', () => {
        stopWatching();
        void stop().catch(() => undefined);
      });
      if (signal.aborted) await stop();
      else this.#write(eventText('ready', {}));
    } catch (error) {
      logger.warn({ err: error }, 'failed to open a session event stream');
      this.close();
    }
  }

  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#response.end();
  }

  async #sendChanges(): Promise<void> {
    if (this.#changed.size === 0) return;
    const ids = [...this.#changed].slice(0, MAX_TOLD);
    this.#changed.clear();
    const sessions = await this.#context.models.sessions
      .find(
        { _id: { $in: ids }, team_id: this.#teamId, is_listed: true, status: { $ne: 'creating' } },
        Object.fromEntries(DETAIL_FIELDS.map((field) => [field, 0])),
      )
      .lean<SessionDocument[]>();
    for (const session of sessions) this.#write(eventText('session', toSessionRecord(session)));
  }

  #write(text: string): void {
    if (this.#closing.signal.aborted) return;
    // The client has stopped reading: it reconnects when it reads again.
    if (this.#response.writableLength > MAX_UNREAD_BYTES) this.close();
    else this.#response.write(text);
  }
}
