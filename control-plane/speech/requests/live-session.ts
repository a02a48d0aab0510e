/** One socket of live synthesis: text in, streamed audio out, as MessagePack maps in both directions. */
import { encode } from '@msgpack/msgpack';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { Timer } from '#base/clock.ts';
import { Fault, fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { AudioPiece, Segment } from '#media/speech/pool/speech-jobs.ts';
import type { SpeechSlot } from '#media/speech/pool/speech-thread.ts';
import { type Context, newId } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { readMsgpack } from '../../platform/http/request-bodies.ts';
import { languageOf, requestedVoices } from '../voices/resolve-voice.ts';
import { LiveText } from './live-text.ts';
import { synthesisModel } from './speech-models.ts';
import { admit, synthesise } from './speech-service.ts';
import { TextQueue } from './text-queue.ts';
import { timedPiece } from './timed-piece.ts';
import { liveRequest, Script, speakOptions } from './tts-request.ts';

/** A client's message. */
const message = z.discriminatedUnion('event', [
  z.object({ event: z.literal('start'), request: liveRequest }),
  z.object({ event: z.literal('text'), text: z.string().max(LIMITS.spokenChars) }),
  z.object({ event: z.literal('flush') }),
  z.object({ event: z.literal('stop') }),
]);

/** Idle time after which a socket is closed: nothing was started, or nothing is read or written. */
const IDLE_MS = 60_000;
/** Maximum text waiting to be spoken; a client that sends more is disconnected. */
const MAX_WAITING_SEGMENTS = 2_000;
/** Unread audio at which synthesis waits for a slow client. */
const MAX_UNSENT_BYTES = 512 * 1_024;
const UNSENT_CHECK_MS = 20;
/** Close codes of the socket (RFC 6455 §7.4 and its registry). */
const NORMAL = 1000;
const TRY_AGAIN_LATER = 1013;

/** Dependencies of a session. */
export interface LiveSessionDeps {
  readonly context: Context;
  readonly caller: Caller;
  /** The header `model`. */
  readonly model: string | undefined;
  /** Audio events include word times, and the socket accepts another `start` afterwards. */
  readonly withTimestamps: boolean;
}

interface Synthesis {
  readonly text: LiveText;
  readonly script: Promise<Script>;
  readonly segments: TextQueue<Segment>;
  /** Texts are split and spoken one after the other. */
  said: Promise<void>;
}

/** Serves the socket until it closes. Holds a place only from `start` to the end of the speech. */
export function serveLiveSession(socket: WebSocket, deps: LiveSessionDeps): void {
  const session = new LiveSession(socket, deps);
  socket.on('message', (data: Buffer, isBinary) => session.received(data, isBinary));
  socket.on('error', () => socket.terminate());
  socket.on('close', () => session.closed());
}

class LiveSession {
  readonly #socket: WebSocket;
  readonly #deps: LiveSessionDeps;
  readonly #closed = new AbortController();
  #running: Synthesis | null = null;
  /** The messages so far, in order. */
  #read: Promise<void> = Promise.resolve();
  #idle: Timer;

  constructor(socket: WebSocket, deps: LiveSessionDeps) {
    this.#socket = socket;
    this.#deps = deps;
    this.#idle = this.#awaitIdle();
  }

  received(data: Buffer, isBinary: boolean): void {
    this.#touch();
    // A long message is parsed in parts, yielding to other work; later messages wait.
    this.#socket.pause();
    this.#read = this.#read.then(() => this.#message(data, isBinary)).finally(() => this.#socket.resume());
  }

  async #message(data: Buffer, isBinary: boolean): Promise<void> {
    try {
      if (!isBinary) throw fault('malformed_body', { kind: 'MessagePack: send binary messages' });
      const parsed = message.safeParse(await readMsgpack(data));
      if (this.#closed.signal.aborted) return;
      if (!parsed.success) throw fault('bad_request', { detail: explain(parsed.error) });
      this.#take(parsed.data);
    } catch (error) {
      this.#finish('error', error);
    }
  }

  closed(): void {
    this.#closed.abort(new Error('the client disconnected'));
    this.#idle.cancel();
  }

  #awaitIdle(): Timer {
    return this.#deps.context.clock.after(IDLE_MS, () => this.#socket.close(NORMAL, 'idle'));
  }

  #touch(): void {
    this.#idle.cancel();
    if (!this.#closed.signal.aborted) this.#idle = this.#awaitIdle();
  }

  #take(event: z.output<typeof message>): void {
    if (event.event === 'start') {
      if (this.#running) throw fault('bad_request', { detail: 'start comes once, before any text' });
      this.#start(event.request);
      return;
    }
    if (!this.#running) throw fault('bad_request', { detail: 'The first message must be start' });
    if (event.event === 'text') this.#say(this.#running, this.#running.text.add(event.text));
    else if (event.event === 'flush') this.#say(this.#running, this.#running.text.flush());
    else this.#stop(this.#running);
  }

  #start(request: z.output<typeof liveRequest>): void {
    const { context, caller } = this.#deps;
    const place = admit(context, caller, 'synthesis');
    const voices = place.then(() => requestedVoices(context, caller, request, this.#closed.signal));
    const script = voices.then((resolved) => new Script(resolved, request.pronunciation_dictionary));
    const text = new LiveText({ least: request.min_chunk_length, most: request.chunk_length });
    const synthesis: Synthesis = { text, script, segments: new TextQueue(), said: script.then(() => {}) };
    synthesis.said.catch((error: unknown) => this.#finish('error', error));
    this.#running = synthesis;
    this.#hold(place, async (slot) => {
      const [voice] = await voices;
      const options = speakOptions(request, languageOf(context, voice ?? null));
      const asked = {
        caller,
        requestId: newId(),
        model: synthesisModel(this.#deps.model, context.clock.wallTime()),
        slot,
      };
      await this.#speak(
        synthesise(context, asked, { options, segments: synthesis.segments }, this.#closed.signal),
      );
    }).catch(() => {}); // The session reports why there is no place or voice.
    this.#say(synthesis, text.add(request.text));
  }

  /** Runs work with a place and releases it. */
  async #hold(place: Promise<SpeechSlot>, work: (slot: SpeechSlot) => Promise<void>): Promise<void> {
    const slot = await place;
    try {
      await work(slot);
    } finally {
      slot.release();
    }
  }

  #say(synthesis: Synthesis, text: string | null): void {
    if (text === null) return;
    if (synthesis.segments.length > MAX_WAITING_SEGMENTS)
      throw fault('bad_request', { detail: 'Too much text is waiting to be spoken: send it more slowly' });
    synthesis.said = synthesis.said.then(async () => {
      for (const segment of await (await synthesis.script).pronounced(text)) synthesis.segments.add(segment);
    });
    synthesis.said.catch((error: unknown) => this.#finish('error', error));
  }

  #stop(synthesis: Synthesis): void {
    this.#say(synthesis, synthesis.text.flush());
    // An earlier failure has already ended the session.
    synthesis.said = synthesis.said.then(
      () => synthesis.segments.end(),
      () => synthesis.segments.end(),
    );
  }

  async #speak(pieces: AsyncIterable<AudioPiece>): Promise<void> {
    try {
      for await (const piece of pieces) {
        this.#touch();
        this.#send(piece);
        await this.#room();
      }
      this.#finish('stop');
    } catch (error) {
      this.#finish('error', error);
    }
  }

  #send(piece: AudioPiece): void {
    const { withTimestamps } = this.#deps;
    if (piece.bytes.length === 0 && !withTimestamps) return;
    this.#socket.send(
      encode({
        event: 'audio',
        audio: piece.bytes,
        time: piece.durationMs,
        ...(withTimestamps ? timedPiece(piece) : {}),
      }),
    );
  }

  /** Waits for a slow reader. */
  async #room(): Promise<void> {
    while (this.#socket.bufferedAmount > MAX_UNSENT_BYTES)
      await this.#deps.context.clock.sleep(UNSENT_CHECK_MS, this.#closed.signal);
  }

  /**
   * The last message of a synthesis. After a failure it contains the reason, the equivalent HTTP status, and
   * when a retry may succeed.
   */
  #finish(reason: 'stop' | 'error', error?: unknown): void {
    const { context, withTimestamps } = this.#deps;
    if (this.#closed.signal.aborted || this.#socket.readyState !== this.#socket.OPEN) return;
    if (error !== undefined && !(error instanceof Fault))
      context.logger.error({ err: error }, 'live synthesis failed');
    const problem = error === undefined || error instanceof Fault ? error : fault('internal');
    this.#socket.send(encode({ event: 'finish', reason, ...(problem && errorFields(problem)) }));
    this.#running = null;
    if (reason === 'error' || !withTimestamps)
      this.#socket.close(problem?.status === 429 ? TRY_AGAIN_LATER : NORMAL);
  }
}

/** A refusal in the form of an HTTP answer: `retry_after` is its `Retry-After`, s. */
function errorFields({ message, status, retryAfterSeconds }: Fault): Record<string, unknown> {
  return { message, status, ...(retryAfterSeconds !== null && { retry_after: retryAfterSeconds }) };
}

function explain(error: z.ZodError): string {
  const issue = error.issues[0];
  const place = issue?.path
    .map(String)
    .filter((part) => /^\w{1,64}$/.test(part))
    .join('.');
  return (
    `${place === undefined || place === '' ? 'message' : place}: ` +
    `${issue?.code === 'unrecognized_keys' ? 'has unknown fields' : 'is not acceptable'}`
  );
}
