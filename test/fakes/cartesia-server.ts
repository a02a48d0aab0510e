/**
 * A stand-in for Cartesia (`WS /tts/websocket`): several contexts share one socket and their chunks are
 * interleaved. Word times are sent in separate messages, the last of them after the audio. As with the
 * vendor, a cancelled context may still send one chunk.
 */
import { startVendorServer, toneFor, type VendorConnection, type VendorServer } from './vendor-sockets.ts';

/** A running stand-in. */
export interface CartesiaServer extends VendorServer {
  /** Sent instead of audio. */
  refusal: {
    readonly status_code: number;
    readonly title: string;
    readonly message: string;
    readonly error_code: string;
  } | null;
}

const CHUNK_MS = 70;

/** Starts the stand-in; a key other than this one is answered 401. */
export async function startCartesiaServer({
  apiKey,
}: {
  readonly apiKey?: string;
} = {}): Promise<CartesiaServer> {
  const state = { refusal: null as CartesiaServer['refusal'] };
  const server = await startVendorServer({
    mayEnter: (headers) =>
      headers['cartesia-version'] !== undefined && (apiKey === undefined || headers['x-api-key'] === apiKey),
    accept(connection) {
      if (connection.path !== '/tts/websocket') return null;
      const contexts = new Map<string, object[]>();
      return {
        onJson(message) {
          const id = String(message['context_id']);
          if (message['cancel'] === true) {
            connection.say(contexts.get(id)?.at(0) ?? chunk(id, new Int16Array(80)));
            contexts.delete(id);
          } else if (state.refusal)
            connection.say({ type: 'error', done: true, context_id: id, ...state.refusal });
          else {
            const rateHz = (message['output_format'] as { sample_rate: number }).sample_rate;
            contexts.set(id, messagesOf(id, String(message['transcript']), rateHz));
            // Deferred to the next event-loop turn, to interleave contexts requested together.
            if (contexts.size === 1) setImmediate(() => drain(connection, contexts));
          }
        },
      };
    },
  });
  return Object.defineProperty(server as CartesiaServer, 'refusal', {
    get: () => state.refusal,
    set: (value) => Object.assign(state, { refusal: value }),
  });
}

function drain(connection: VendorConnection, contexts: Map<string, object[]>): void {
  for (const [id, messages] of contexts) {
    const next = messages.shift();
    if (next) connection.say(next);
    if (messages.length === 0) contexts.delete(id);
  }
  if (contexts.size > 0) setImmediate(() => drain(connection, contexts));
}

function messagesOf(id: string, text: string, rateHz: number): object[] {
  const samples = toneFor(text, rateHz);
  const words = text.match(/\S+/g) ?? [];
  const size = (rateHz * CHUNK_MS) / 1_000;
  const timestamps = (from: number, to: number) => ({
    type: 'timestamps',
    context_id: id,
    done: false,
    status_code: 206,
    word_timestamps: {
      words: words.slice(from, to),
      start: words.slice(from, to).map((_, index) => (from + index) / 10),
      end: words.slice(from, to).map((_, index) => (from + index + 1) / 10),
    },
  });
  const half = Math.ceil(words.length / 2);
  const messages: object[] = [timestamps(0, half)];
  for (let at = 0; at < samples.length; at += size) messages.push(chunk(id, samples.slice(at, at + size)));
  return [
    ...messages,
    timestamps(half, words.length),
    { type: 'done', done: true, status_code: 206, context_id: id },
  ];
}

function chunk(id: string, samples: Int16Array): object {
  const data = Buffer.from(samples.buffer).toString('base64');
  return { type: 'chunk', data, done: false, status_code: 206, step_time: 10, context_id: id };
}
