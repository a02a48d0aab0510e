/**
 * Starts a transfer the model asked for: finds the destination, chooses the announcement, waits for open
 * questions, stops listening.
 */
import { parseJson } from '#base/parse-json.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import { isTransferCall, transferWish } from '../../../tools/call-tools.ts';
import { type Draft, emit } from '../draft.ts';
import { prepare, recordUser, utteranceOf } from '../floor/floor.ts';
import { setAnswer } from '../floor/generating.ts';
import { noteResult, withResult } from '../floor/tool-results.ts';
import { enter } from '../phases.ts';
import type { Answer, CallWithResult, Utterance } from '../turn-state.ts';
import { stopListening } from './ending.ts';
import type { TransferRule, TransferRules } from './transfer-rules.ts';

const ASKS = 'Not transferred: your words ask the caller something. Wait for the answer first.';

/**
 * Carries out the model's request. `asks`: the words before it ask a question, which the caller answers
 * first. `refused`: it is impossible, and the model reads why.
 */
export function transferBy(draft: Draft, answer: Answer): 'begun' | 'asks' | 'refused' {
  const rules = draft.texts.transfer;
  const asked = answer.generation.calls.find(({ mode, result }) => mode === 'transfer' && result === null);
  if (!asked) return 'refused';
  const wish = parseJson(transferWish, asked.call.input) ?? { destination: '', announcement: '', notes: '' };
  const index = rules ? destinationIndex(rules, wish.destination) : -1;
  const destination = rules?.destinations[index];
  if (!rules || !destination || destination.error !== null) {
    settleTransfer(draft, answer, asked, {
      isDone: false,
      text: destination?.error ?? unknownDestination(rules),
    });
    return 'refused';
  }
  const said = answer.generation.text.trim();
  const announcement = said === '' ? announcementOf(draft, destination, wish.announcement.trim()) : '';
  if (rules.refuseQuestions && /[?？؟]\s*$/.test(said || announcement)) {
    settleTransfer(draft, answer, asked, { isDone: false, text: ASKS });
    return 'asks';
  }
  // The words before keys have been heard.
  const hasWords = said !== '' && answer.heard[answer.generation.replyId] === undefined;
  begin(draft, answer, { asked, index, notes: wish.notes.trim(), hasWords, announcement });
  return 'begun';
}

/**
 * Number of transfers in a timeline; refused requests do not count. One that broke off with its worker
 * counts, because it may have rung.
 */
export function transfersBegun(items: readonly SessionItem[], rules: TransferRules | null): number {
  const refusals = new Set([
    ASKS,
    unknownDestination(rules),
    ...(rules?.destinations.map(({ error }) => error) ?? []),
  ]);
  const refused = new Set(
    items.flatMap((item) =>
      item.type === 'tool_result' && item.error !== null && refusals.has(item.error) ? [item.call_id] : [],
    ),
  );
  return items.filter(
    (item) => item.type === 'tool_call' && isTransferCall(item.tool_name) && !refused.has(item.call_id),
  ).length;
}

/** Records a transfer's outcome for the model and the timeline. */
export function settleTransfer(
  draft: Draft,
  answer: Answer,
  asked: CallWithResult,
  outcome: { readonly isDone: boolean; readonly text: string },
): Answer {
  const { call, source } = asked;
  const settled = withResult(answer, call.callId, outcome.text);
  setAnswer(draft, settled);
  noteResult(
    draft,
    {
      callId: call.callId,
      status: outcome.isDone ? 'completed' : 'failed',
      output: outcome.isDone ? JSON.stringify({ result: outcome.text }) : null,
      outputTruncated: false,
      error: outcome.isDone ? null : outcome.text,
      latencyMs: 0,
    },
    { toolName: call.toolName, source, turnId: answer.turn.turnId },
  );
  return settled;
}

/** A single destination needs no name; several are matched by label, ignoring case. */
function destinationIndex({ destinations }: TransferRules, wanted: string): number {
  if (destinations.length === 1) return 0;
  return destinations.findIndex(({ label }) => label.trim().toLowerCase() === wanted.trim().toLowerCase());
}

function unknownDestination(rules: TransferRules | null): string {
  const labels = rules?.destinations.filter(({ error }) => error === null).map(({ label }) => label) ?? [];
  return labels.length === 0
    ? 'Nobody can be reached by transfer.'
    : `Unknown destination. Use one of: ${labels.join(', ')}.`;
}

/** An empty fixed message falls back to the generated one, which the model sends with its call. */
function announcementOf(
  draft: Draft,
  { announcementMode, announcement }: TransferRule,
  generated: string,
): string {
  if (announcementMode === 'off') return '';
  const fixed = announcementMode === 'fixed' ? announcement : '';
  return fixed || generated || draft.config.phrases.transferring;
}

interface TransferStart {
  readonly asked: CallWithResult;
  readonly index: number;
  readonly notes: string;
  readonly hasWords: boolean;
  readonly announcement: string;
}

/** The reply's words or the announcement play to their end; the caller cannot interrupt them. */
function begin(
  draft: Draft,
  answer: Answer,
  { asked, index, notes, hasWords, announcement }: TransferStart,
): void {
  const { phase, waiting } = draft;
  stopListening(draft, { isForGood: false });
  draft.waiting = waiting;
  const { replyId } = answer.generation;
  const playing = 'utterance' in phase ? phase.utterance : null;
  const isOther = playing !== null && playing.replyId !== replyId;
  if (phase.is === 'paused') emit(draft, playing ? { do: 'resume' } : { do: 'play', replyId });
  if (isOther) emit(draft, { do: 'clear', replyId: playing.replyId });
  const utterance = wordsBefore(draft, answer, {
    own: isOther ? null : playing,
    hasWords,
    announcement,
    mustPlay: isOther,
  });
  enter(draft, {
    is: 'transferring',
    answer: recordUser(draft, answer),
    callId: asked.call.callId,
    destination: index,
    notes,
    cut: isOther ? playing : null,
    utterance,
  });
  if (!utterance) emit(draft, { do: 'transfer', destination: index, notes });
}

function wordsBefore(
  draft: Draft,
  answer: Answer,
  words: {
    readonly own: Utterance | null;
    readonly hasWords: boolean;
    readonly announcement: string;
    readonly mustPlay: boolean;
  },
): Utterance | null {
  if (words.hasWords) {
    if (words.mustPlay) emit(draft, { do: 'play', replyId: answer.generation.replyId });
    return words.own ?? utteranceOf(draft, answer.turn, answer.generation);
  }
  if (words.announcement === '') return null;
  const utterance = prepare(draft, words.announcement, { kind: 'notice', turnId: answer.turn.turnId });
  emit(draft, { do: 'play', replyId: utterance.replyId });
  return utterance;
}
