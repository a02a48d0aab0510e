/** A turn of a traced call until it is recorded: its work, and how it ended. */
import { GEN_AI, OPERATION, type TurnEnd } from '#config/gen-ai.ts';
import type { FinishedSpan } from '#config/tracing.ts';
import type { TurnLatency } from '#protocol/session-record.ts';
import type { Turn } from '../turn/machine/turn-state.ts';
import type { LineRule } from './turn-ends.ts';
import type { TurnFacts, TurnUsage } from './turn-spans.ts';

/** A kind of failure, for `error.type`. */
const NO_ANSWER = 'no_answer';

/** A generated reply or a fixed text of a turn, and whether it is given up without having been heard. */
export interface Reply {
  readonly turnId: number;
  /** Null for a generated reply, and for a fixed text that fills no wait and stands in for no answer. */
  readonly line: LineRule | null;
  isDiscarded: boolean;
  /** It was cut, and the leg has not reported what was heard of it. */
  isCut: boolean;
  /** Why it was cut, if the machine said so. */
  cutBy: TurnEnd | null;
}

/** Work done for a turn; `reply` for a reply of it. */
export interface Part {
  readonly span: FinishedSpan;
  readonly reply: Reply | null;
}

/** A turn in progress. It is recorded once the next one is answered, so that late reports are included. */
export interface OpenTurn {
  /** Null while it is not taken; a speculation's may never be. Wall times. */
  taken: { readonly source: Turn['source']; readonly startMs: number; readonly speechEndMs: number } | null;
  latency: TurnLatency | null;
  end: TurnFacts['end'];
  /** When a person got its caller; null if none did. Wall time. */
  transferredMs: number | null;
  /** The machine gave a generation up. */
  hasFailed: boolean;
  /** The agent had no answer, and said so. */
  hasNoAnswer: boolean;
  readonly parts: Part[];
  readonly usage: TurnUsage[];
}

/** A turn of which nothing is known yet. */
export function newTurn(): OpenTurn {
  return {
    taken: null,
    latency: null,
    end: null,
    transferredMs: null,
    hasFailed: false,
    hasNoAnswer: false,
    parts: [],
    usage: [],
  };
}

/** How a turn ended, and whether that was a failure. */
export function outcomeOf({ end, hasNoAnswer, transferredMs }: OpenTurn): Pick<TurnFacts, 'end' | 'error'> {
  if (transferredMs !== null) return { end: { atMs: transferredMs, reason: 'transferred' }, error: null };
  const isStalled = end?.reason === 'stalled';
  return { end, error: hasNoAnswer ? NO_ANSWER : isStalled ? 'stalled' : null };
}

/**
 * The spans of a turn's work. An empty answer, or none in time, is a failure that only the turn machine
 * knows: the last generation gets it, unless one has failed by itself.
 */
export function spansOf({ hasFailed, parts }: OpenTurn): readonly FinishedSpan[] {
  const spans = parts.map(withFate);
  if (!hasFailed) return spans;
  const isChat = ({ attributes }: FinishedSpan) => attributes?.[GEN_AI.operation] === OPERATION.chat;
  if (spans.some((span) => isChat(span) && (span.error ?? null) !== null)) return spans;
  const last = spans.findLastIndex(isChat);
  return spans.map((span, index) =>
    index === last
      ? { ...span, error: NO_ANSWER, attributes: { ...span.attributes, [GEN_AI.errorType]: NO_ANSWER } }
      : span,
  );
}

/** The span of work, which says if it was for a reply that was discarded before anyone heard it. */
function withFate({ reply, span }: Part): FinishedSpan {
  if (reply === null) return span;
  const { isDiscarded, line } = reply;
  return {
    ...span,
    attributes: { ...span.attributes, 'parley.discarded': isDiscarded, 'parley.line': line },
  };
}
