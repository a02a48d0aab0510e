/**
 * The tags of an ended call: the faults that its stored facts show, each with its moments. A pure function of
 * these facts, in time linear in their size.
 */
import { CALL_TAGS, type CallTagName, type Scorecard, TAG_THRESHOLDS } from '#config/scorecard.ts';
import {
  type MediaQuality,
  type SessionItem,
  type SpeechOverlap,
  type TurnSilence,
  UNINTELLIGIBLE,
} from '#protocol/session-record.ts';
import { angerIn } from './anger-words.ts';
import { isDeadAir } from './dead-air.ts';
import { LOOP, REPEATED, repetitionsIn } from './repetitions.ts';
import { spokenLanguage } from './spoken-language.ts';

/** Moments shown of one tag. */
const MOST_MOMENTS = 20;
/** How many of the caller's last messages are looked at for words of anger. */
const LAST_LINES = 3;
/** One utterance in another language may be a mistake of the recogniser. */
const FEWEST_FOREIGN = 2;
const EVIDENCE_CHARS = 160;

/** The stored facts of a call. */
export interface CallRecord {
  readonly startedAt: Date | null;
  /** In the order of their times. */
  readonly items: readonly SessionItem[];
  readonly silences: readonly (Pick<TurnSilence, 'started_at' | 'duration_ms' | 'causes'> & {
    readonly explanation: string;
  })[];
  readonly overlaps: readonly SpeechOverlap[];
  readonly mediaQuality: Pick<MediaQuality, 'unheard'> | null;
}

/** How it is judged: the section of its version, and the language of the agent (`en`). */
export interface TagRules {
  readonly scorecard: Scorecard;
  readonly language: string;
}

/** Where something happened. */
interface Moment {
  /** Since the call began, ms. */
  readonly at_ms: number;
  readonly evidence: string;
}

/** A tag, how often it applies, and its first moments. */
export interface CallTag {
  readonly tag: CallTagName;
  readonly count: number;
  readonly moments: readonly Moment[];
}

type Message = Extract<SessionItem, { type: 'message' }>;
interface Found {
  readonly at: string;
  readonly evidence: string;
}

/** The tags of a call, in a fixed order; empty if nothing was found. */
export function tagsOf(call: CallRecord, rules: TagRules): CallTag[] {
  const startMs = call.startedAt?.getTime() ?? 0;
  return CALL_TAGS.flatMap((tag) => {
    const found = FINDERS[tag](call, rules);
    if (found.length === 0) return [];
    const moments = found.slice(0, MOST_MOMENTS).map(({ at, evidence }) => ({
      at_ms: Math.max(0, Math.round(Date.parse(at) - startMs)),
      evidence: evidence.slice(0, EVIDENCE_CHARS),
    }));
    return [{ tag, count: found.length, moments }];
  });
}

const FINDERS: Readonly<Record<CallTagName, (call: CallRecord, rules: TagRules) => Found[]>> = {
  dead_air: ({ silences }, { scorecard: { dead_air_ms: fromMs = TAG_THRESHOLDS.dead_air_ms } }) =>
    silences
      .filter((silence) => isDeadAir(silence, fromMs))
      .map(({ started_at: at, duration_ms, explanation }) => ({
        at,
        evidence: `${milliseconds(duration_ms)} of silence: ${explanation}`,
      })),
  talked_over: ({ overlaps }, { scorecard: { talked_over_ms: fromMs = TAG_THRESHOLDS.talked_over_ms } }) =>
    overlaps
      .filter(({ duration_ms }) => duration_ms >= fromMs)
      .map(({ started_at: at, duration_ms, begun_by }) => ({
        at,
        evidence: `Both spoke for ${milliseconds(duration_ms)}; the ${begun_by} began while the other spoke`,
      })),
  loop: ({ items }) => repetitionsIn(saidBy(items, 'assistant'), LOOP).map(quoted),
  caller_repeated: ({ items }) => repetitionsIn(saidBy(items, 'user'), REPEATED).map(quoted),
  slow_tool: ({ items }, { scorecard: { slow_tool_ms: fromMs = TAG_THRESHOLDS.slow_tool_ms } }) =>
    items.flatMap((item) =>
      item.type === 'tool_result' && item.latency_ms !== null && item.latency_ms >= fromMs
        ? [
            {
              at: before(item.created_at, item.latency_ms),
              evidence: `${item.tool_name} took ${milliseconds(item.latency_ms)}`,
            },
          ]
        : [],
    ),
  wrong_language: ({ items }) => wrongLanguage(saidBy(items, 'user'), saidBy(items, 'assistant')),
  unheard: ({ mediaQuality, startedAt }) =>
    mediaQuality?.unheard
      ? [{ at: (startedAt ?? new Date(0)).toISOString(), evidence: 'No audio arrived from the caller' }]
      : [],
  anger_words: ({ items }, { scorecard: { anger_words: further }, language }) =>
    saidBy(items, 'user')
      .slice(-LAST_LINES)
      .flatMap(({ content, created_at: at }) => {
        const word = angerIn(content, language, further);
        return word === null ? [] : [{ at, evidence: `“${word}” in: ${content}` }];
      }),
};

function saidBy(items: readonly SessionItem[], by: Message['role']): Message[] {
  return items.filter((item): item is Message => item.type === 'message' && item.role === by);
}

/**
 * The recogniser says so, more than once, or by the words of both sides: those of the agent decide what it
 * spoke.
 */
function wrongLanguage(caller: readonly Message[], agent: readonly Message[]): Found[] {
  const foreign = caller.filter(({ content }) => content === UNINTELLIGIBLE);
  if (foreign.length >= FEWEST_FOREIGN)
    return foreign.map(({ created_at: at }) => ({ at, evidence: 'The recogniser heard another language' }));
  const [first] = caller;
  const theirs = spokenLanguage(caller.map(({ content }) => content));
  if (!first || theirs === null) return [];
  const ours = spokenLanguage(agent.map(({ content }) => content));
  if (ours === null || ours === theirs) return [];
  return [{ at: first.created_at, evidence: `The caller spoke ${theirs}, the agent ${ours}` }];
}

function quoted({ created_at: at, content }: Message): Found {
  return { at, evidence: `Said again: ${content}` };
}

function before(at: string, ms: number): string {
  return new Date(Date.parse(at) - ms).toISOString();
}

function milliseconds(ms: number): string {
  return `${Math.round(ms).toLocaleString('en-US')} ms`;
}
