/**
 * A test by voice made from an ended call: the caller's lines where they were, and as its expectation that a
 * fault of the call does not happen again. Pure.
 */
import type { Meaning, Timeline } from '#protocol/audible-timeline.ts';
import { MOST_KEYS, MOST_LINE_CHARS } from '#protocol/caller-steps.ts';
import { observeTurns } from '#protocol/turn-taking.ts';
import {
  LONGEST_EXPECTED_MS,
  MOST_VOICE_STEPS,
  VOICE_TEST_FORMAT,
  type VoiceFault,
  type VoiceTestFile,
} from '#protocol/voice-test.ts';
import type { CallerItem, HeardCall, SaidByAgent } from './heard-call.ts';
import { type Replaced, replaceKeys, replacePrivate } from './replace-private.ts';

/** A caller who goes on after a longer pause has waited for an answer in vain, ms. */
const HESITATION_MS = 2_500;
/**
 * A caller who goes on this soon after the agent's first sound does not react to it, ms: while the agent
 * still speaks, and after a whole reply.
 */
const UNHEARD_MS = 1_200;
const UNHEARD_REPLY_MS = 600;
/** Limits of the pauses in a listening step: the voice's own pauses are shorter, ms. */
const LISTENED_MS = { least: 600, most: 5_000 } as const;
/**
 * Longest speech of the agent before it is interrupted, ms: a pause of its voice in the test, where the call
 * had none, starts that time again.
 */
const MOST_OVER_MS = 2_500;
/** Backchannels have few words. */
const MOST_BACKCHANNEL_WORDS = 2;
const LISTEN_TIMEOUT_MS = 10_000;
/** A silence is a fault from here, ms. */
const LONG_SILENCE_MS = 3_000;
/** Steps of a test; later ones of a longer call are left out. An item has several, and the end one more. */
const MOST_STEPS = MOST_VOICE_STEPS - 10;
/** Longest pause of a step, ms. */
const MOST_PAUSE_MS = 600_000;

type Step = VoiceTestFile['steps'][number];

/** The call a test is made from. */
export interface CallToTest {
  readonly sessionId: string;
  readonly agentName: string;
  /** The caller hung up. */
  readonly isEndedByCaller: boolean;
  readonly heard: HeardCall;
}

/** The fault that must not happen again; `tool` for `tool_not_called`. */
export interface WantedFault {
  /** Null: the first that the call has. */
  readonly fault: VoiceFault | null;
  readonly tool: string | null;
}

/** The test, or why there is none. */
export type MadeTest =
  | { readonly test: VoiceTestFile; readonly problem: null }
  | { readonly test: null; readonly problem: string };

/** Makes the test. */
export function makeVoiceTest(call: CallToTest, wanted: WantedFault): MadeTest {
  if (call.heard.caller.length === 0)
    return { test: null, problem: 'the caller neither spoke nor pressed keys' };
  const placed = placeItems(call.heard);
  const { steps, replaced, items } = stepsOf(placed);
  // A fault after the last step would not be in the test.
  const untilMs = placed[items]?.item.startMs ?? Number.POSITIVE_INFINITY;
  const heardAgent = call.heard.agent.filter(({ startMs }) => startMs < untilMs);
  const found = expectationOf(placed.slice(0, items), heardAgent, wanted);
  if (typeof found === 'string') return { test: null, problem: found };
  const isWhole = items === call.heard.caller.length;
  steps.push(
    call.isEndedByCaller || !isWhole
      ? { do: 'listen', timeout_ms: LISTEN_TIMEOUT_MS }
      : { do: 'await_hang_up', timeout_ms: LISTEN_TIMEOUT_MS },
  );
  const { fault, expect } = found;
  return {
    problem: null,
    test: {
      parley_voice_test: VOICE_TEST_FORMAT,
      name: `${call.agentName}: ${TITLES[fault]}`.slice(0, 200),
      steps,
      expect,
      made_from: { session_id: call.sessionId, fault, replaced: { ...replaced } },
    },
  };
}

const TITLES: Readonly<Record<VoiceFault, string>> = {
  cut_off: 'does not cut the caller off',
  missed_interruption: 'stops when it is interrupted',
  silence: 'does not let the caller wait',
  tool_not_called: 'calls its tool',
};

/** Speech or keys of the caller, and when they began: after the item before, and after or over the agent. */
interface PlacedItem {
  readonly item: CallerItem;
  readonly how: /** After a pause of the caller alone; `isGoingOn` after a line that was not finished. */
    | { readonly is: 'pause'; readonly ms: number; readonly isGoingOn: boolean }
    /** After the agent had spoken and been silent. */
    | { readonly is: 'after_agent'; readonly quietMs: number }
    /** The agent had not answered the line before; `afterMs` after its end. */
    | { readonly is: 'unanswered'; readonly afterMs: number }
    /** While the agent spoke, `afterMs` after it had begun. */
    | { readonly is: 'over'; readonly afterMs: number; readonly isBackchannel: boolean };
  readonly isUnfinished: boolean;
}

function placeItems({ caller, agent }: HeardCall): PlacedItem[] {
  const placed: { -readonly [Name in keyof PlacedItem]: PlacedItem[Name] }[] = [];
  let next = 0;
  // One more than there are steps, which says where the test ends.
  for (const item of caller.slice(0, MOST_STEPS + 1)) {
    const before = placed.at(-1);
    while (next < agent.length && (agent[next]?.startMs ?? 0) < item.startMs) next += 1;
    const how = howPlaced(item, before?.item, agent[next - 1]);
    if (before && how.is === 'pause' && how.isGoingOn) before.isUnfinished = true;
    placed.push({ item, how, isUnfinished: false });
  }
  return placed;
}

/** `before` is the caller's previous item, `latest` the agent's last speech that began before this one. */
function howPlaced(
  item: CallerItem,
  before: CallerItem | undefined,
  latest: SaidByAgent | undefined,
): PlacedItem['how'] {
  const sinceMs = before?.endMs ?? Number.NEGATIVE_INFINITY;
  const gapMs = Math.max(0, item.startMs - sinceMs);
  const hasSpoken = latest !== undefined && latest.startMs >= sinceMs;
  const isUnheard = !hasSpoken || item.startMs - latest.startMs < unheardMs(latest, item.startMs);
  if (before?.is === 'speech' && item.is === 'speech' && isUnheard && gapMs <= HESITATION_MS)
    return { is: 'pause', ms: Math.round(gapMs), isGoingOn: true };
  const sinceAnyMs = Number.isFinite(gapMs) ? gapMs : item.startMs - (latest?.startMs ?? item.startMs);
  if (latest && latest.endMs > item.startMs && latest.startMs < item.startMs) {
    // No step waits for the agent's voice to press keys over it.
    if (item.is === 'keys') return { is: 'pause', ms: Math.round(sinceAnyMs), isGoingOn: false };
    const isSpokenOn = latest.endMs > item.endMs + 1_500;
    const isShort = item.text.split(' ').length <= MOST_BACKCHANNEL_WORDS;
    return {
      is: 'over',
      afterMs: Math.round(Math.min(MOST_OVER_MS, item.startMs - latest.startMs)),
      isBackchannel: isSpokenOn && isShort,
    };
  }
  if (hasSpoken) return { is: 'after_agent', quietMs: Math.round(item.startMs - latest.endMs) };
  if (before?.is === 'speech' && item.is === 'speech')
    return { is: 'unanswered', afterMs: Math.round(gapMs) };
  return { is: 'pause', ms: Math.round(sinceAnyMs), isGoingOn: false };
}

function unheardMs({ endMs }: SaidByAgent, atMs: number): number {
  return endMs > atMs ? UNHEARD_MS : UNHEARD_REPLY_MS;
}

/** The fault, and the expectation that it does not happen; or why the call has no such fault. */
function expectationOf(
  placed: readonly PlacedItem[],
  agent: readonly SaidByAgent[],
  { fault, tool }: WantedFault,
): { readonly fault: VoiceFault; readonly expect: VoiceTestFile['expect'] } | string {
  if (fault === 'tool_not_called' || (fault === null && tool !== null))
    return tool === null
      ? 'tool_not_called needs the name of the tool'
      : { fault: 'tool_not_called', expect: { tools: [{ name: tool }] } };
  const turns = observeTurns(timelineOf(placed, agent));
  const faults: Partial<Record<VoiceFault, VoiceTestFile['expect']>> = {
    ...(turns.cutOffs.length > 0 && { cut_off: { cut_offs: 0 } }),
    ...(turns.missedInterruptions.length > 0 && { missed_interruption: { missed_interruptions: 0 } }),
    ...(turns.longestSilenceMs > LONG_SILENCE_MS && {
      silence: {
        silence_ms: Math.round(
          Math.min(LONGEST_EXPECTED_MS, Math.max(LONG_SILENCE_MS, turns.longestSilenceMs * 0.6)),
        ),
        unanswered: 0,
      },
    }),
  };
  const [first] = Object.keys(faults) as VoiceFault[];
  const chosen = fault ?? first;
  const expect = chosen && faults[chosen];
  if (chosen && expect) return { fault: chosen, expect };
  return fault === null
    ? 'no cut-off, no missed interruption, no silence of more than 3 s: name a fault'
    : `${fault} did not happen`;
}

function timelineOf(placed: readonly PlacedItem[], agent: readonly SaidByAgent[]): Timeline {
  return {
    agent: agent.map(({ startMs, endMs }) => ({ firstMs: startMs, lastMs: endMs })),
    lines: placed
      .filter(({ item }) => item.is === 'speech')
      .map((one) => ({
        text: one.item.text,
        means: meaningOf(one),
        firstMs: one.item.startMs,
        lastMs: one.item.endMs,
      })),
  };
}

function meaningOf({ how, isUnfinished }: PlacedItem): Meaning {
  if (isUnfinished) return 'part';
  if (how.is !== 'over') return 'turn';
  return how.isBackchannel ? 'backchannel' : 'interruption';
}

/** Converts items to steps, up to the most that a test may have; `items`: how many of them were converted. */
function stepsOf(placed: readonly PlacedItem[]): {
  readonly steps: Step[];
  readonly replaced: Replaced;
  readonly items: number;
} {
  const { texts, replaced } = safeTexts(placed);
  const steps: Step[] = [];
  let items = 0;
  /** True if the step before already waits until the agent has spoken and is silent. */
  let isHeardOut = false;
  for (const { item, how, isUnfinished } of placed) {
    if (steps.length >= MOST_STEPS) break;
    const text = texts[items] ?? '';
    const said: Step =
      item.is === 'keys'
        ? { do: 'press', digits: text }
        : { do: 'say', text, ...(isUnfinished ? { is_unfinished: true } : {}) };
    steps.push(...placedSteps(how, said, isHeardOut));
    isHeardOut = how.is === 'unanswered';
    items += 1;
  }
  return { steps, replaced, items };
}

function pause(ms: number): Step {
  return { do: 'pause', ms: Math.min(MOST_PAUSE_MS, ms) };
}

function placedSteps(how: PlacedItem['how'], said: Step, isHeardOut: boolean): Step[] {
  switch (how.is) {
    case 'pause':
      return how.ms > 0 ? [pause(how.ms), said] : [said];
    case 'unanswered':
      return said.do === 'say'
        ? [
            {
              do: 'listen',
              timeout_ms: LISTEN_TIMEOUT_MS,
              impatient: { after_ms: Math.min(MOST_PAUSE_MS, how.afterMs), text: said.text },
            },
          ]
        : [said];
    case 'after_agent': {
      const { least, most } = LISTENED_MS;
      const quietMs = Math.min(most, Math.max(least, how.quietMs));
      const restMs = how.quietMs - quietMs;
      return [
        ...(isHeardOut ? [] : [{ do: 'listen', quiet_ms: quietMs, timeout_ms: LISTEN_TIMEOUT_MS } as const]),
        ...(restMs > 0 ? [pause(restMs)] : []),
        said,
      ];
    }
    case 'over':
      return said.do === 'say'
        ? [
            {
              do: 'interrupt',
              text: said.text,
              after_ms: how.afterMs,
              ...(how.isBackchannel ? { is_backchannel: true } : {}),
            },
          ]
        : [said];
    default:
      return how satisfies never;
  }
}

/** The words and keys of all items, with private data replaced. */
function safeTexts(placed: readonly PlacedItem[]): {
  readonly texts: readonly string[];
  readonly replaced: Replaced;
} {
  // Twice as much as is kept: a number at the cut may be recognisable only with its rest.
  const spoken = replacePrivate(
    placed.map(({ item }) => (item.is === 'speech' ? item.text.slice(0, 2 * MOST_LINE_CHARS) : '')),
  );
  const texts = spoken.texts.map((text) => text.slice(0, MOST_LINE_CHARS));
  let { numbers } = spoken.replaced;
  for (let at = 0; at < placed.length; ) {
    const length = keysLength(placed, at);
    const entries = placed.slice(at, at + length).map(({ item }) => item.text.slice(0, MOST_KEYS));
    const keys = replaceKeys(entries);
    texts.splice(at, length, ...keys.entries);
    numbers += keys.numbers;
    at += Math.max(1, length);
  }
  return { texts, replaced: { ...spoken.replaced, numbers } };
}

/** Number of entries of keys from there on between which the agent did not answer. */
function keysLength(placed: readonly PlacedItem[], at: number): number {
  let length = 0;
  for (; placed[at + length]?.item.is === 'keys'; length += 1)
    if (length > 0 && placed[at + length]?.how.is !== 'pause') break;
  return length;
}
