/**
 * The contents of a call file, parsed. A part that is not as it was signed is not shown, and one that this
 * page does not understand counts as absent: the file may come from anywhere.
 */
import { z } from 'zod';
import { type CallPart, type ReadCallFile, redactedNames } from '../../protocol/call-file.ts';
import { isLine, type PartLabel } from '../../protocol/call-parts.ts';
import { sessionItem, turnLatency } from '../../protocol/session-record.ts';

const text = z.string().nullable();
const callFacts = z.object({
  agent_name: z.string(),
  direction: z.string(),
  end_reason: text,
  started_at: text,
  ended_at: text,
  duration_seconds: z.number().nullable(),
});
const callNumbers = z.object({ caller_number: text, dialed_number: text });
const explainedTurn = turnLatency.extend({ explanation: z.string() });
const callTurns = z.object({ turns: z.array(explainedTurn) });

export type CallFacts = z.output<typeof callFacts>;
export type CallTurn = z.output<typeof explainedTurn>;
export type CallItem = z.output<typeof sessionItem>;
export type AudioLabel = Extract<PartLabel, { readonly kind: 'audio' | 'sound' }>;

/** A line of the transcript; null if it is redacted. */
export type Line = CallItem | null;

/** A call to show. */
export interface ShownCall {
  readonly facts: CallFacts | null;
  readonly numbers: z.output<typeof callNumbers> | null;
  readonly lines: readonly Line[];
  readonly turns: readonly CallTurn[];
  /** Null without one, or if it is redacted or has gaps. */
  readonly flightLog: string | null;
  readonly audio: readonly { readonly label: AudioLabel; readonly file: Uint8Array }[];
  /** The names of the redacted parts, each once. */
  readonly redacted: readonly string[];
}

/** Reads the parts that are as they were signed. */
export function shownCall({ parts, chain }: ReadCallFile): ShownCall {
  const genuine = parts.filter(({ isAsSigned }) => isAsSigned);
  const ofKind = (kind: PartLabel['kind']) => genuine.filter(({ label }) => label.kind === kind);
  const [facts] = ofKind('call').map((part) => parsed(part, callFacts));
  const [numbers] = ofKind('numbers').map((part) => parsed(part, callNumbers));
  const [turns] = ofKind('turns').map((part) => parsed(part, callTurns));
  return {
    facts: facts ?? null,
    numbers: numbers ?? null,
    lines: genuine.filter(({ label }) => isLine(label)).map((part) => parsed(part, sessionItem)),
    turns: turns?.turns ?? [],
    flightLog: hasGap(genuine, chain) ? null : textOfAll([...ofKind('flight_log'), ...ofKind('inputs')]),
    audio: genuine.flatMap(({ label, content }) =>
      (label.kind === 'audio' || label.kind === 'sound') && content ? [{ label, file: content }] : [],
    ),
    redacted: redactedNames(genuine),
  };
}

function parsed<Schema extends z.ZodType>(part: CallPart, schema: Schema): z.output<Schema> | null {
  const value = textOf(part);
  if (value === null) return null;
  try {
    return schema.safeParse(JSON.parse(value)).data ?? null;
  } catch {
    return null;
  }
}

function textOf({ content }: CallPart): string | null {
  return content && new TextDecoder().decode(content);
}

/** Whether pieces of the flight log are not there: a machine that runs without them tells another call. */
function hasGap(parts: readonly CallPart[], chain: ReadCallFile['chain']): boolean {
  if (chain?.missing.some(({ label }) => label.kind === 'inputs')) return true;
  const next = new Map<number, number>();
  return parts.some(({ label }) => {
    if (label.kind !== 'inputs') return false;
    const isAfterGap = label.piece > (next.get(label.epoch) ?? 0);
    next.set(label.epoch, label.piece + label.pieces);
    return isAfterGap;
  });
}

/** Parts may end within a character. Null without any, or if one is redacted. */
function textOfAll(parts: readonly CallPart[]): string | null {
  const decoder = new TextDecoder();
  let text = '';
  for (const { content } of parts) {
    if (!content) return null;
    text += decoder.decode(content, { stream: true });
  }
  return parts.length === 0 ? null : text + decoder.decode();
}
