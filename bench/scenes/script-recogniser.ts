/**
 * A stand-in for Deepgram's live recognition that returns the words of a scene's script shortly after they
 * are spoken. Sends growing interims at most every 150 ms, and a final 480 ms after the last queued word or
 * 80 ms after `Finalize`. The first key term of a connection identifies the call.
 */
import { startVendorServer, type VendorConnection, type VendorServer } from '#test/fakes/vendor-sockets.ts';

/** From the end of a spoken word to its interim: network delay plus typical engine time. */
const WORD_DELAY_MS = 180;
/**
 * Network delay alone. On `Finalize`, the final includes every word whose audio has arrived, even one the
 * engine would not have recognised yet.
 */
const NETWORK_DELAY_MS = 60;
/** Delay from `Finalize` to the requested final. */
const FINALISE_MS = 80;
const ENDPOINTING_MS = 300;
const INTERIM_EVERY_MS = 150;
/** Interval of empty results during silence. */
const EMPTY_EVERY_MS = 1_000;

/** A word and the wall time of its end. */
export interface ScriptedWord {
  readonly text: string;
  readonly endMs: number;
}

/** A running stand-in. */
export interface ScriptRecogniser extends VendorServer {
  /** Adds words about to be spoken in the call of this name. */
  hear(call: string, words: readonly ScriptedWord[]): void;
}

/** Starts the stand-in on a free port of 127.0.0.1. */
export async function startScriptRecogniser(): Promise<ScriptRecogniser> {
  const coming = new Map<string, ScriptedWord[]>();
  const queueOf = (call: string) => {
    const queue = coming.get(call) ?? [];
    coming.set(call, queue);
    return queue;
  };
  const server = await startVendorServer({
    mayEnter: () => true,
    accept: (connection) =>
      connection.path === '/v1/listen'
        ? listen(connection, queueOf(connection.query.get('keyterm') ?? ''))
        : null,
  });
  return Object.assign(server, {
    hear: (call: string, words: readonly ScriptedWord[]) => void queueOf(call).push(...words),
  });
}

function listen(connection: VendorConnection, queue: ScriptedWord[]) {
  const bytesPerMs = (2 * Number(connection.query.get('sample_rate') ?? 16_000)) / 1_000;
  let [heardMs, utteranceMs] = [0, 0];
  let words: string[] = [];
  let told = 0;
  let [lastWordMs, lastToldMs] = [0, 0];

  const send = (text: string, flags: { readonly is_final: boolean; readonly from_finalize?: boolean }) =>
    connection.say({
      type: 'Results',
      channel_index: [0, 1],
      start: utteranceMs / 1_000,
      duration: (heardMs - utteranceMs) / 1_000,
      speech_final: flags.is_final,
      ...flags,
      channel: { alternatives: [{ transcript: text, confidence: text === '' ? 0 : 0.99, words: [] }] },
    });
  const hear = (untilMs: number) => {
    for (let next = queue[0]; next && next.endMs <= untilMs; next = queue[0]) {
      words.push(next.text);
      lastWordMs = next.endMs;
      queue.shift();
    }
  };
  const settle = (isAsked: boolean) => {
    send(words.join(' '), isAsked ? { is_final: true, from_finalize: true } : { is_final: true });
    [words, told, utteranceMs] = [[], 0, heardMs];
  };
  return {
    onAudio(bytes: Buffer) {
      const now = Date.now();
      heardMs += bytes.length / bytesPerMs;
      hear(now - WORD_DELAY_MS);
      const isNew = words.length > told && now - lastToldMs >= INTERIM_EVERY_MS;
      if (isNew || (words.length === 0 && now - lastToldMs >= EMPTY_EVERY_MS)) {
        [told, lastToldMs] = [words.length, now];
        send(words.join(' '), { is_final: false });
      }
      if (words.length > 0 && now - lastWordMs >= ENDPOINTING_MS + WORD_DELAY_MS && queue.length === 0)
        settle(false);
    },
    onJson({ type }: Record<string, unknown>) {
      if (type === 'CloseStream') connection.close(1000);
      if (type !== 'Finalize') return;
      hear(Date.now() - NETWORK_DELAY_MS);
      setTimeout(() => settle(true), FINALISE_MS);
    },
  };
}
