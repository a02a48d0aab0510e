/** One connection of a text session. */
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import { acceptMessage } from './accept-message.ts';
import { answerOf, beginTurn } from './answer-turn.ts';
import { awaitTurn } from './await-turn.ts';
import { problemOf, toClientEvent } from './client-event.ts';
import { messageContent, messageKey } from './text-session-request.ts';
import { endTextSession, findTextSession } from './text-session-store.ts';

/** A connection without a pong for so long is closed. */
const PING_MS = 30_000;
/** The client has stopped reading; its keys find the answers. */
const MAX_UNREAD_BYTES = 1_048_576;

const clientFrame = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('message'), content: messageContent, key: messageKey.optional() }),
  z.strictObject({ type: z.literal('end') }),
]);
type Message = Extract<z.output<typeof clientFrame>, { type: 'message' }>;

/** Serves a connection until one side closes it. */
export function serveTextSocket(context: Context, socket: WebSocket, session: TextSessionDocument): void {
  const served = new TextSocket(context, socket, session);
  socket.on('message', (data, isBinary) => served.receive(isBinary ? '' : String(data)));
  socket.on('close', () => served.close());
  socket.on('error', () => socket.terminate());
}

class TextSocket {
  readonly #context: Context;
  readonly #socket: WebSocket;
  readonly #session: TextSessionDocument;
  readonly #gone = new AbortController();
  readonly #stopPinging: () => void;
  /** Messages are accepted in their order. */
  #accepted: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(context: Context, socket: WebSocket, session: TextSessionDocument) {
    this.#context = context;
    this.#socket = socket;
    this.#session = session;
    let isHeard = true;
    socket.on('pong', () => {
      isHeard = true;
    });
    const pings = context.clock.every(PING_MS, () => {
      if (!isHeard) return socket.terminate();
      isHeard = false;
      socket.ping();
    });
    this.#stopPinging = () => pings.cancel();
  }

  receive(text: string): void {
    const frame = parseJson(clientFrame, text);
    if (!frame) {
      this.#send({
        type: 'error',
        key: null,
        ...this.#problem(fault('malformed_body', { kind: 'message' })),
      });
      return;
    }
    if (frame.type === 'end') {
      this.#then(() => this.#end());
      return;
    }
    // Before anything is read from the store: a flood costs one connection.
    if (this.#waiting >= LIMITS.textWaitingTurns * 2) {
      const error = fault('text_turns_waiting', { limit: LIMITS.textWaitingTurns });
      this.#send({ type: 'error', key: frame.key ?? null, ...this.#problem(error) });
      return;
    }
    this.#waiting += 1;
    this.#then(() => this.#accept(frame));
  }

  close(): void {
    this.#stopPinging();
    this.#gone.abort();
  }

  #then(work: () => Promise<void>): void {
    this.#accepted = this.#accepted.then(work).catch((error: unknown) => {
      this.#send({ type: 'error', key: null, ...this.#problem(error) });
    });
  }

  /** Resolves once the message is stored; its answer follows. */
  async #accept({ content = null, key }: Message): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#answer(content, key ?? null, resolve)
      .catch((error: unknown) => {
        if (!this.#gone.signal.aborted)
          this.#send({ type: 'error', key: key ?? null, ...this.#problem(error) });
      })
      .finally(() => {
        this.#waiting -= 1;
        resolve();
      });
    await promise;
  }

  async #answer(content: string | null, key: string | null, onStored: () => void): Promise<void> {
    const session = await findTextSession(this.#context, this.#session.team_id, this.#session._id);
    const turn = await acceptMessage(this.#context, session, { content, key, isStreamed: true });
    const about = { message_id: turn._id, key };
    this.#send({ type: 'accepted', ...about });
    onStored();
    const over = await awaitTurn(this.#context, turn._id, {
      signal: this.#gone.signal,
      onEvent: (event) => this.#send({ ...toClientEvent(event), ...about }),
      onReady: () => beginTurn(this.#context, turn),
    });
    const answer = await answerOf(this.#context, session, over);
    this.#send({ type: 'done', key, ...answer });
    if (answer.session_status === 'ended') this.#socket.close(1000, 'The session has ended');
  }

  async #end(): Promise<void> {
    await endTextSession(this.#context, this.#session._id, 'client');
    this.#socket.close(1000, 'The session has ended');
  }

  #problem(error: unknown) {
    return problemOf(this.#context, error);
  }

  #send(event: Readonly<Record<string, unknown>>): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > MAX_UNREAD_BYTES) this.#socket.terminate();
    else this.#socket.send(JSON.stringify(event));
  }
}
