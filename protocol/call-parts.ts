/** The parts of an exported call: their labels, which stay when a part is redacted, and their names. */
import { z } from 'zod';

const count = z.number().int().min(0);
const side = z.enum(['agent', 'user', 'human']);
const sound = {
  side,
  packing: z.enum(['flac', 'wav']),
  /** Wall time of the first sample. */
  start_ms: count,
  rate_hz: count,
  samples: count,
};
/** The worker that has it, and its first piece there; a stretch that was signed in the call is one piece. */
const pieces = { epoch: count, piece: count, pieces: count.min(1) };

/** The kind of a part and its place in the call; also readable if the part is redacted. */
export const partLabel = z.discriminatedUnion('kind', [
  /** Agent, times and end of the call. */
  z.strictObject({ kind: z.literal('call') }),
  /** Name of the session, numbers of both sides, SIP headers and metadata. */
  z.strictObject({ kind: z.literal('numbers') }),
  /** The latency waterfall of the turns, and the silences. */
  z.strictObject({ kind: z.literal('turns') }),
  /** Format 2: an entry of the transcript as heard, by the report of the worker that had it. */
  z.strictObject({ kind: z.literal('line'), epoch: count, seq: count, entry: count }),
  /** Format 2: inputs of the turn machine. */
  z.strictObject({ kind: z.literal('inputs'), ...pieces }),
  /** Format 2: a stretch of one side. */
  z.strictObject({ kind: z.literal('sound'), ...pieces, ...sound }),
  /** Format 2: a link of the chain, counted from 0. */
  z.strictObject({ kind: z.literal('chain'), number: count }),
  /** Format 1: an entry of the transcript as heard, counted from 1. */
  z.strictObject({ kind: z.literal('item'), number: count.min(1) }),
  /** Format 1: all inputs of the turn machine. */
  z.strictObject({ kind: z.literal('flight_log') }),
  /** Format 1: a stretch of one side. */
  z.strictObject({ kind: z.literal('audio'), ...sound }),
]);
export type PartLabel = z.output<typeof partLabel>;
export type LineLabel = Extract<PartLabel, { readonly kind: 'line' }>;
export type InputsLabel = Extract<PartLabel, { readonly kind: 'inputs' }>;
export type SoundLabel = Extract<PartLabel, { readonly kind: 'sound' }>;

/** The label of an entry of the transcript. The text of a label is part of a digest: its order is fixed. */
export function lineLabel({ epoch, seq, entry }: Omit<LineLabel, 'kind'>): LineLabel {
  return { kind: 'line', epoch, seq, entry };
}

/** The label of inputs of the turn machine. */
export function inputsLabel({ epoch, piece, pieces }: Omit<InputsLabel, 'kind'>): InputsLabel {
  return { kind: 'inputs', epoch, piece, pieces };
}

/** The label of a stretch of sound. */
export function soundLabel(sound: Omit<SoundLabel, 'kind'>): SoundLabel {
  const { epoch, piece, pieces, side, packing, start_ms, rate_hz, samples } = sound;
  return { kind: 'sound', epoch, piece, pieces, side, packing, start_ms, rate_hz, samples };
}

const SIDES = { agent: 'the agent', user: 'the caller', human: 'the person called' } as const;

/** Whether a part is an entry of the transcript. */
export function isLine({ kind }: PartLabel): boolean {
  return kind === 'line' || kind === 'item';
}

/** The name of a part, for people; `line` is its place in the transcript, counted from 1. */
export function nameOf(label: PartLabel, line: number): string {
  switch (label.kind) {
    case 'call':
      return 'the facts of the call';
    case 'numbers':
      return 'numbers and metadata';
    case 'line':
    case 'item':
      return `line ${line} of the transcript`;
    case 'turns':
      return 'latencies';
    case 'flight_log':
    case 'inputs':
      return 'flight log';
    case 'sound':
    case 'audio':
      return `sound of ${SIDES[label.side]}`;
    case 'chain':
      return `link ${label.number + 1} of the chain`;
  }
}
