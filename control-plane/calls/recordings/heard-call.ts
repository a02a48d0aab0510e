/**
 * Reads the flight log of an ended call: when caller and agent spoke, the caller's words, and the keys
 * pressed. Every line of the log is one input of the turn machine; only those about sound are read.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { flightLogHeader } from '#protocol/flight-log.ts';

/** A shorter pause does not end an utterance, ms. */
const SPEECH_GAP_MS = 300;
/** Words belong to speech that began at least this long before they were recognised, ms. */
const RECOGNISED_AFTER_MS = 300;
/** Keys with shorter pauses are pressed in one go, ms. */
const KEYS_GAP_MS = 2_500;

/** One utterance of the caller, or keys pressed in one go; ms since 1970. */
export interface CallerItem {
  readonly is: 'speech' | 'keys';
  readonly startMs: number;
  readonly endMs: number;
  readonly text: string;
}

/** A stretch of the agent's speech. */
export interface SaidByAgent {
  readonly startMs: number;
  readonly endMs: number;
}

/** A call as it was heard. */
export interface HeardCall {
  /** In order. */
  readonly caller: readonly CallerItem[];
  readonly agent: readonly SaidByAgent[];
}

const headLine = flightLogHeader.pick({ flight_log_version: true, started_at_ms: true, wall_time: true });

const atMs = z.number();
const soundInput = z.discriminatedUnion('type', [
  z.object({ type: z.literal('voice.started'), speechStartMs: z.number(), atMs }),
  z.object({ type: z.literal('voice.stopped'), speechEndMs: z.number(), atMs }),
  z.object({ type: z.literal('transcript.final'), text: z.string(), atMs }),
  z.object({ type: z.literal('playout.started'), replyId: z.string(), wireMs: z.number(), atMs }),
  z.object({ type: z.literal('playout.finished'), replyId: z.string(), atMs }),
  z.object({ type: z.literal('playout.cleared'), replyId: z.string(), atMs }),
  z.object({ type: z.literal('digit.pressed'), digit: z.string(), atMs }),
]);
type SoundInput = z.output<typeof soundInput>;

type Open<Value> = { -readonly [Name in keyof Value]: Value[Name] };

/** Reads a log: lines of JSON, in one part for each worker that ran the call. Null if it is not a log. */
export function readHeardCall(log: string): HeardCall | null {
  const hearing = new Hearing();
  /** Wall time of the zero of the worker's clock. */
  let zeroMs: number | null = null;
  for (const line of log.split('\n')) {
    if (line === '') continue;
    if (line.startsWith('{"flight_log_version":')) {
      const head = parseJson(headLine, line);
      if (!head) return null;
      zeroMs = Date.parse(head.wall_time) - head.started_at_ms;
      continue;
    }
    if (zeroMs === null) return null;
    const input = parseJson(soundInput, line);
    if (input) hearing.take(input, zeroMs);
  }
  return zeroMs === null ? null : hearing.heard();
}

/** Collects what is heard, input by input. */
class Hearing {
  readonly #speech: Open<CallerItem>[] = [];
  readonly #keys: Open<CallerItem>[] = [];
  readonly #agent: Open<SaidByAgent>[] = [];
  /** Index of the first utterance whose words are not known yet. */
  #unknown = 0;
  #isTalking = false;

  take(input: SoundInput, zeroMs: number): void {
    switch (input.type) {
      case 'voice.started':
        this.#begin(zeroMs + input.speechStartMs);
        return;
      case 'voice.stopped':
        this.#end(zeroMs + input.speechEndMs);
        return;
      case 'transcript.final':
        this.#name(input.text.trim(), zeroMs + input.atMs);
        return;
      case 'playout.started':
        this.#agent.push({ startMs: zeroMs + input.wireMs, endMs: Number.POSITIVE_INFINITY });
        return;
      case 'playout.finished':
      case 'playout.cleared': {
        const playing = this.#agent.at(-1);
        if (playing) playing.endMs = Math.min(playing.endMs, zeroMs + input.atMs);
        return;
      }
      case 'digit.pressed':
        this.#press(input.digit, zeroMs + input.atMs);
        return;
      default:
        input satisfies never;
    }
  }

  /** Sounds without words are left out. */
  heard(): HeardCall {
    const spoken = this.#speech.filter(({ text }) => text !== '');
    return {
      caller: [...spoken, ...this.#keys].sort((one, other) => one.startMs - other.startMs),
      agent: this.#agent,
    };
  }

  #begin(startMs: number): void {
    const last = this.#speech.at(-1);
    this.#isTalking = true;
    const isSame = last && last.text === '' && startMs - last.endMs < SPEECH_GAP_MS;
    if (!isSame) this.#speech.push({ is: 'speech', startMs, endMs: startMs, text: '' });
  }

  #end(endMs: number): void {
    const last = this.#speech.at(-1);
    this.#isTalking = false;
    if (last) last.endMs = Math.max(last.startMs, endMs);
  }

  /** Gives words to the utterances that waited for them. */
  #name(text: string, atMs: number): void {
    if (text === '') return;
    const open = this.#isTalking ? this.#speech.at(-1) : undefined;
    const waiting: Open<CallerItem>[] = [];
    for (let at = this.#unknown; ; at += 1) {
      const one = this.#speech[at];
      if (!one || one.startMs + RECOGNISED_AFTER_MS > atMs) break;
      waiting.push(one);
    }
    const ended = waiting.filter((one) => one !== open);
    const named = ended.length > 0 ? ended : waiting;
    if (named.length === 0) {
      const before = this.#speech[this.#unknown - 1];
      if (before) before.text += before.text === '' ? text : ` ${text}`;
      return;
    }
    for (const [index, part] of shared(text, named, atMs).entries())
      (named[index] as Open<CallerItem>).text = part;
    this.#unknown += named.length;
  }

  #press(digit: string, atMs: number): void {
    const last = this.#keys.at(-1);
    const isSpokenBetween = last && (this.#speech.at(-1)?.startMs ?? 0) > last.startMs;
    if (last && atMs - last.endMs < KEYS_GAP_MS && !isSpokenBetween) {
      last.text += digit;
      last.endMs = atMs;
    } else this.#keys.push({ is: 'keys', startMs: atMs, endMs: atMs, text: digit });
  }
}

/** Divides the words of a text among utterances by their durations; each gets a word while there are any. */
function shared(text: string, spoken: readonly CallerItem[], atMs: number): string[] {
  const words = text.split(/\s+/);
  const lengths = spoken.map(({ startMs, endMs }) => Math.max(1, (endMs > startMs ? endMs : atMs) - startMs));
  const all = lengths.reduce((sum, ms) => sum + ms, 0);
  let [given, passedMs] = [0, 0];
  return lengths.map((ms, index) => {
    passedMs += ms;
    const left = lengths.length - index - 1;
    const until = Math.max(
      given + 1,
      Math.min(words.length - left, Math.round((passedMs / all) * words.length)),
    );
    const part = words.slice(given, until).join(' ');
    given = Math.min(until, words.length);
    return part;
  });
}
