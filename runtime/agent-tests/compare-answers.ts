/**
 * The judge of a rehearsal: compares two answers of an agent to one moment of a call. Call and answers are
 * data, never instructions.
 */
import { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import type { QuestionOutcome, TurnAnswer, TurnQuestion } from '#protocol/judged-turns.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { LanguageModel } from '#runtime/llm/llm.ts';
import { ask, jsonIn } from '../text-turns/ask-model.ts';
import { JUDGE_RULES, tagged } from './judge.ts';
import { callLines, inert, inLine } from './shown-call.ts';

/** Longer histories lose their beginning: the answers are about their end. */
const HISTORY_CHARS = 20_000;
const REASON_CHARS = 300;

const comparison = z.object({
  result: z.enum(['same', 'first', 'second', 'different']),
  reason: z.string().default(''),
});

type Compared = Extract<QuestionOutcome, { outcome: 'compared' }>;

const INSTRUCTIONS = [
  ...JUDGE_RULES.slice(0, 2),
  'Between the tags are a call of a voice agent up to a moment, and two answers to this moment, each of ' +
    'which may be words, calls of tools, or both. Compare what they do for the caller, not their wording:',
  '- "same": the caller would get the same information, question or action.',
  '- "first" or "second": they differ, and this one is better for the caller.',
  '- "different": they differ, and neither is better.',
  'The order of the answers means nothing. An answer may end early because the caller interrupted it: do ' +
    'not count that against it. Words that only bridge a wait, such as “One moment, please”, do not count. ' +
    'A call of a tool counts as the action that it asks for.',
  'Answer with one JSON object and nothing else: {"result": "same" | "first" | "second" | "different", ' +
    '"reason": one sentence}.',
].join('\n');

/** Compares the answers; null if the judge's own answer cannot be parsed. Throws `ModelError`. */
export async function compareAnswers(
  model: LanguageModel,
  { items, first, second }: Pick<Extract<TurnQuestion, { step: 'compare' }>, 'items' | 'first' | 'second'>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Pick<Compared, 'result' | 'reason'> | null> {
  const shown = [
    tagged('call', inert(history(items))),
    tagged('first_answer', inert(lines(first))),
    tagged('second_answer', inert(lines(second))),
  ];
  const { text } = await ask(
    model,
    {
      messages: [
        { role: 'system', content: INSTRUCTIONS },
        { role: 'user', content: shown.join('\n\n') },
      ],
    },
    { plan: { session_id: 'rehearsal' }, clock, signal },
  );
  const parsed = comparison.safeParse(jsonIn(text));
  if (!parsed.success) return null;
  const { result, reason } = parsed.data;
  return { result, reason: reason.slice(0, REASON_CHARS) };
}

function history(items: readonly SessionItem[]): string {
  const text = callLines(items);
  return text.length <= HISTORY_CHARS ? text : `[…]\n${text.slice(-HISTORY_CHARS)}`;
}

function lines({ text, calls }: TurnAnswer): string {
  return [
    ...(text === '' ? [] : [`Says: ${inLine(text)}`]),
    ...calls.map((call) => `Calls ${inLine(call.tool_name)} with ${inLine(call.arguments)}`),
  ].join('\n');
}
