/** Compares the call of a voice test with the expectations of the test. Pure. */
import { compileLinearPattern } from '#base/linear-pattern.ts';
import { quantile } from '#caller/statistics.ts';
import type { GoalOutcome } from '#caller/take-turns.ts';
import type { Timeline } from '#protocol/audible-timeline.ts';
import type { CallVerdict } from '#protocol/test-call-question.ts';
import { observeTurns, type TurnTaking } from '#protocol/turn-taking.ts';
import type { VoiceExpectations } from '#protocol/voice-test.ts';

/** An ended call: heard by its caller, and read from its session. */
export interface VoiceCall {
  readonly timeline: Timeline;
  readonly endedBy: 'caller' | 'agent';
  /** The agent's replies, each as far as it was heard. */
  readonly replies: readonly string[];
  /** Function names, in order. */
  readonly tools: readonly string[];
  /** Verdicts by criterion; null without an analysis. */
  readonly criteria: ReadonlyMap<string, string> | null;
  /** Of a model on the test's own conditions; null if it has none. */
  readonly verdicts: readonly CallVerdict[] | null;
  /** How each conversation with a goal ended, as the caller's model says; null if the test has none. */
  readonly goals: readonly (GoalOutcome | 'agent_hung_up')[] | null;
}

/** One expectation, and the observation that it was compared with. */
export interface Check {
  readonly name: string;
  readonly passed: boolean;
  readonly expected: string;
  readonly observed: string;
}

/** A judged call. */
export interface JudgedVoiceCall {
  readonly turns: TurnTaking;
  readonly checks: readonly Check[];
}

/** Judges a call. */
export function judgeVoiceCall(call: VoiceCall, expect: VoiceExpectations): JudgedVoiceCall {
  const turns = observeTurns(call.timeline);
  return {
    turns,
    checks: [
      ...(expect.replies ?? []).map((reply) => checkReply(reply, call.replies)),
      ...(expect.tools ?? []).map((tool) => checkTool(tool, call.tools)),
      ...checkTimes(expect, turns),
      ...checkTurns(expect, turns),
      ...equal('ended_by', call.endedBy, expect.ended_by),
      ...Object.entries(expect.criteria ?? {}).flatMap(([name, expected]) =>
        equal(`criterion ${name}`, call.criteria?.get(name) ?? 'no verdict', expected),
      ),
      ...(expect.judged ?? []).map((condition) => checkCondition(condition, call.verdicts)),
    ],
  };
}

type Reply = NonNullable<VoiceExpectations['replies']>[number];

function checkReply(reply: Reply, said: readonly string[]): Check {
  const observed = said.map((text) => `“${text}”`).join(' ') || 'nothing';
  if ('contains' in reply) {
    const wanted = reply.contains.toLowerCase();
    const passed = said.some((text) => text.toLowerCase().includes(wanted));
    return { name: 'reply', passed, expected: `contains “${reply.contains}”`, observed };
  }
  const pattern = compileLinearPattern(reply.matches);
  const passed = said.some((text) => pattern.matcher(text).find());
  return { name: 'reply', passed, expected: `matches ${reply.matches}`, observed };
}

function checkTool(tool: NonNullable<VoiceExpectations['tools']>[number], called: readonly string[]): Check {
  const isCalled = called.includes(tool.name);
  return {
    name: `tool ${tool.name}`,
    passed: isCalled === tool.called,
    expected: tool.called ? 'called' : 'not called',
    observed: called.length === 0 ? 'no tool was called' : `called: ${called.join(', ')}`,
  };
}

/** An `unknown` verdict does not pass: nothing shows that the condition is met. */
function checkCondition(
  { name, condition }: NonNullable<VoiceExpectations['judged']>[number],
  verdicts: VoiceCall['verdicts'],
): Check {
  const verdict = verdicts?.find((each) => each.name === name);
  return {
    name: `judged ${name}`,
    passed: verdict?.result === 'success',
    expected: condition,
    observed: verdict ? `${verdict.result} (${verdict.reason})` : 'no verdict',
  };
}

function checkTimes({ reply_ms, silence_ms }: VoiceExpectations, turns: TurnTaking): Check[] {
  const { replyMs, longestSilenceMs } = turns;
  // Without a reply there is no time that could be short enough.
  const at = (q: number) => (replyMs.length === 0 ? Number.POSITIVE_INFINITY : quantile(replyMs, q));
  return [
    ...shortEnough('reply_ms p95', at(0.95), reply_ms?.p95),
    ...shortEnough('reply_ms max', at(1), reply_ms?.max),
    ...shortEnough('silence_ms', longestSilenceMs, silence_ms),
  ];
}

function checkTurns(expect: VoiceExpectations, turns: TurnTaking): Check[] {
  return [
    ...fewEnough('cut_offs', turns.cutOffs, expect.cut_offs),
    ...fewEnough('missed_interruptions', turns.missedInterruptions, expect.missed_interruptions),
    ...atMost('unanswered', turns.unanswered, expect.unanswered, {
      observed: `${turns.unanswered} of ${turns.asked} lines`,
    }),
    ...shortEnough('talk_over_ms', turns.talkOverMs, expect.talk_over_ms),
  ];
}

function shortEnough(name: string, ms: number, limit: number | undefined): Check[] {
  const observed = Number.isFinite(ms) ? `${Math.round(ms)} ms` : 'no reply';
  return atMost(name, ms, limit, { observed, unit: ' ms' });
}

function fewEnough(name: string, lines: readonly string[], limit: number | undefined): Check[] {
  const observed = [String(lines.length), ...lines.map((text) => `“${text}”`)].join(' ');
  return atMost(name, lines.length, limit, { observed });
}

/** No check without a limit. */
function atMost(
  name: string,
  value: number,
  limit: number | undefined,
  { observed, unit = '' }: { readonly observed: string; readonly unit?: string },
): Check[] {
  if (limit === undefined) return [];
  return [{ name, passed: value <= limit, expected: `at most ${limit}${unit}`, observed }];
}

/** No check without an expectation. */
function equal(name: string, observed: string, expected: string | undefined): Check[] {
  if (expected === undefined) return [];
  return [{ name, passed: observed === expected, expected, observed }];
}
