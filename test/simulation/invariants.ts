/** Invariants of every call, whatever happened in it. */
import type { SessionItem } from '#protocol/session-record.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { gapsOf } from './gaps.ts';
import type { SimulatedCall } from './simulate-call.ts';
import { SIMULATED_EPOCH_MS } from './simulated-clock.ts';

/** Maximum silence for the caller after a turn was taken. */
const LONGEST_SILENCE_MS = 4_000;
/** Maximum silence for a caller who reconnects: the interrupted reply is started again. */
const LONGEST_RETURN_MS = 8_000;
/** The first line a caller hears after a failover. */
const BACK = phrasesFor('en').back;
/** Parts of a gap below 1 ms are omitted. */
const ROUNDED_MS = 6;
/** Maximum error of an estimate of heard text, in words. */
const ESTIMATE_MISSES = 3;

/** Every invariant that a call violates; empty if none. */
export function violations(call: SimulatedCall): string[] {
  return [
    ...call.stepViolations,
    ...call.legViolations,
    ...endViolations(call),
    ...transcriptViolations(call),
    ...latencyViolations(call),
    ...silenceViolations(call),
    ...gapViolations(call),
    ...returnViolations(call),
    ...takeoverViolations(call),
  ];
}

function endViolations({ endedMs, pendingTimers, reports }: SimulatedCall): string[] {
  const found: string[] = [];
  if (endedMs === null) found.push('the call never ended');
  if (pendingTimers > 0) found.push(`${pendingTimers} timers leaked`);
  const ended = reports.filter(({ type }) => type === 'ended').length;
  if (ended !== 1 || reports.at(-1)?.type !== 'ended') found.push('`ended` is not the one last report');
  const last = reports.at(-1);
  if (last?.type === 'ended' && last.end_reason === 'internal_error') found.push('the call failed');
  return found;
}

/**
 * The agent's messages are the words that were played, each stamped with the time its first word was sent.
 */
function transcriptViolations({ isWordTimed, played, reports }: SimulatedCall): string[] {
  const items = reports.flatMap((report): SessionItem[] => (report.type === 'items' ? report.items : []));
  const messages = items.flatMap((item) =>
    item.type === 'message' && item.role === 'assistant' ? [item] : [],
  );
  const found =
    new Set(messages.map(({ id }) => id)).size === messages.length ? [] : ['a message was written twice'];
  for (const { replyId, startedMs, words } of played) {
    const heard = words.join(' ');
    const isThen = ({ created_at: at }: { created_at: string }) =>
      Math.abs(Date.parse(at) - SIMULATED_EPOCH_MS - (startedMs ?? 0)) <= 1;
    // Announcements and farewells are stamped with the time they were heard.
    const written = (
      messages.find(isThen) ?? messages.find(({ content }) => isSame(content, heard, isWordTimed))
    )?.content;
    const isRight =
      written === undefined
        ? words.length <= (isWordTimed ? 0 : ESTIMATE_MISSES)
        : isSame(written, heard, isWordTimed);
    if (!isRight) found.push(`${replyId}: heard "${heard}", written ${JSON.stringify(written)}`);
  }
  return found;
}

function isSame(message: string, heard: string, isExact: boolean): boolean {
  if (isExact) return message === heard;
  const [shorter, longer] = message.length < heard.length ? [message, heard] : [heard, message];
  return longer.startsWith(shorter) && longer.slice(shorter.length).split(' ').length - 1 <= ESTIMATE_MISSES;
}

function latencyViolations({ reports }: SimulatedCall): string[] {
  return reports.flatMap((report) => {
    if (report.type !== 'turn') return [];
    const {
      endpoint_ms,
      first_audio_ms,
      first_sentence_ms,
      first_token_ms,
      playout_ms,
      total_ms,
      transcript_ms,
      turn_id,
    } = report.latency;
    const parts = [endpoint_ms, transcript_ms, first_token_ms, first_sentence_ms, first_audio_ms, playout_ms];
    const sum = parts.reduce((total, part) => total + part, 0);
    return Math.abs(sum - total_ms) <= 1 && parts.every((part) => part >= 0)
      ? []
      : [`turn ${turn_id}: parts sum to ${sum} of ${total_ms}`];
  });
}

/**
 * After a turn is taken the caller hears something, does something, or the call ends. A caller who talks
 * throughout keeps the agent silent.
 */
function silenceViolations({ acts, endedMs, live, outages, played }: SimulatedCall): string[] {
  const taken = live.filter(
    ({ event }) => event['type'] === 'transcript' && event['role'] === 'user' && event['final'] === true,
  );
  const written = live
    .filter(({ event }) => event['type'] === 'transcript' && event['role'] === 'agent')
    .map(({ atMs }) => atMs);
  return taken.flatMap(({ atMs, event }) => {
    const isBy = (time: number | null) => time !== null && time >= atMs && time <= atMs + LONGEST_SILENCE_MS;
    const hasActed = acts.some((act) => act.atMs <= atMs + LONGEST_SILENCE_MS && act.untilMs >= atMs);
    const isAnswered =
      hasActed || played.some(({ startedMs }) => isBy(startedMs)) || written.some(isBy) || isBy(endedMs);
    const isAway = outages.some(
      ({ lostMs, backMs }) => lostMs <= atMs + LONGEST_SILENCE_MS && backMs >= atMs,
    );
    return isAnswered || isAway
      ? []
      : [`nothing followed the turn "${String(event['text'])}" taken at ${atMs}`];
  });
}

/** Every gap is attributed to the last millisecond, and no wait for the agent exceeds the maximum silence. */
function gapViolations(call: SimulatedCall): string[] {
  return gapsOf(call).flatMap(({ awaitedMs, fromMs, isExcused, unattributedMs }) => [
    ...(unattributedMs > ROUNDED_MS
      ? [`${Math.round(unattributedMs)} ms of the gap at ${fromMs} are not attributed`]
      : []),
    ...(awaitedMs > LONGEST_SILENCE_MS && !isExcused
      ? [`the agent was waited for ${Math.round(awaitedMs)} ms at ${fromMs}`]
      : []),
  ]);
}

/** A caller who reconnects hears the agent resume, or gets an answer to their earlier words. */
function returnViolations({ acts, endedMs, live, outages, spokenMs }: SimulatedCall): string[] {
  return outages.flatMap(({ backMs, lostMs, wasTalking }) => {
    const isBy = (time: number | null) =>
      time !== null && time >= backMs && time <= backMs + LONGEST_RETURN_MS;
    const isFollowed = spokenMs.some(isBy) || acts.some(({ atMs }) => isBy(atMs)) || isBy(endedMs);
    const last = live.findLast(
      ({ atMs, event }) =>
        atMs <= lostMs &&
        event['type'] === 'transcript' &&
        event['role'] === 'user' &&
        event['final'] === true,
    );
    const isOwed =
      wasTalking ||
      (last !== undefined && !spokenMs.some((startedMs) => startedMs >= last.atMs && startedMs <= lostMs));
    return isOwed && !isFollowed && backMs !== Number.POSITIVE_INFINITY
      ? [`nothing followed the caller's return at ${backMs}`]
      : [];
  });
}

/**
 * After a failover the caller is informed first, and the successor continues the existing timeline: no
 * message, turn or tool result appears twice.
 */
function takeoverViolations({ acts, effects, endedMs, played, reports, takeover }: SimulatedCall): string[] {
  if (!takeover) return [];
  const found: string[] = [];
  const before = takeover.failoverState.items;
  const after = reports.flatMap((report): SessionItem[] => (report.type === 'items' ? report.items : []));
  // A caller who talks over it hears less of it, or nothing.
  const firstWords = effects.find((effect) => effect.do === 'say' || effect.do === 'generate');
  const first = effects.find((effect) => effect.do === 'play');
  if (firstWords?.do !== 'say' || !firstWords.text.startsWith(BACK))
    found.push('the successor does not announce that the agent is back');
  else if (first?.do === 'play' && first.replyId !== firstWords.replyId)
    found.push(`${first.replyId} is played before the announcement that the agent is back`);
  const isHeard = played.some(
    ({ startedMs }) => startedMs !== null && startedMs <= takeover.backMs + LONGEST_SILENCE_MS,
  );
  const isExcused = acts.some(
    ({ atMs, untilMs }) => untilMs >= takeover.backMs && atMs <= takeover.backMs + LONGEST_SILENCE_MS,
  );
  if (!isHeard && !isExcused && (endedMs ?? 0) > takeover.backMs + LONGEST_SILENCE_MS)
    found.push('the caller does not hear that the call continues');
  const messagesBefore = new Set(before.flatMap((item) => (item.type === 'message' ? [item.id] : [])));
  if (after.some((item) => item.type === 'message' && messagesBefore.has(item.id)))
    found.push('a message of the successor has the name of an earlier one');
  const results = new Set(before.flatMap((item) => (item.type === 'tool_result' ? [item.call_id] : [])));
  if (after.some((item) => item.type === 'tool_result' && results.has(item.call_id)))
    found.push('a tool of the dead worker has a second result');
  const lastTurn = Math.max(0, ...before.map(({ turn_id: turnId }) => turnId ?? 0));
  if (reports.some((report) => report.type === 'turn' && report.latency.turn_id <= lastTurn))
    found.push('a turn of the successor has the number of an earlier one');
  return found;
}
