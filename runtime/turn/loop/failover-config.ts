/**
 * How a conversation continues on another worker after a failover: from what was said, with a short word to
 * the caller, then what they are still waiting for.
 */
import type { SessionItem, SessionLine } from '#protocol/session-record.ts';
import type { FailoverState } from '#protocol/worker-link.ts';
import type { ChatMessage } from '../../llm/llm.ts';
import { isTransferCall } from '../../tools/call-tools.ts';
import { EXTENSION_PRESS, isPressKeys } from '../../tools/press-keys.ts';
import type { TurnConfig } from '../machine/turn-config.ts';
import { CUT_OFF_MARK } from '../text/cues.ts';
import { isAutomatedLine, lineWords } from '../text/line-words.ts';

const CUT_OFF =
  '[The connection broke off while you were speaking. You have just told the caller that you are back. Go ' +
  'on where you were cut off, briefly.]';

const CONNECTING_CUT_OFF =
  '[The connection broke off while you were connecting the caller with a person: they are with you again. ' +
  'You have just told them that you are back. Connect them again.]';
const TALK_CUT_OFF =
  '[The connection broke off while the caller was talking with the person you had connected them with: ' +
  'that person is gone, the caller is with you again. You have just told them that you are back. Offer to ' +
  'connect them again, briefly.]';

/** Nobody knows which keys were sent; a key that is sent again may choose something else, or pay twice. */
const KEYS_CUT_OFF =
  '[The connection broke off while you were pressing keys: some of them may have been sent, and none is ' +
  'sent again by itself. Find out from what you hear whether to press them again.]';

/**
 * The settings of a call after a failover: no greeting, menu, extension or machine detection, a disclosure if
 * it is still due, and the remaining time. An automated line goes on hearing nothing.
 */
export function failoverConfig(config: TurnConfig, failoverState: FailoverState): TurnConfig {
  const { items } = failoverState;
  const messages = items.filter((item) => item.type === 'message');
  const history = historyOf(items);
  const waiting = unanswered(history);
  const hasSpoken = messages.some(({ role }) => role === 'assistant');
  const { extension: _dialled, ...kept } = config;
  const isJoined = failoverState.person?.is_joined === true;
  const isCutOff = failoverState.was_cut_off || (!hasSpoken && config.greeting.mode === 'generate');
  const transfer = transferCutOff(items);
  const cutOff = transfer ?? (isCutOff ? CUT_OFF : null);
  const mayBeLine = config.lines !== undefined && !isJoined && transfer === null;
  const line = mayBeLine ? lineOf(messages.at(-1), hasSpoken) : null;
  const isSilent = isJoined || (failoverState.is_handed_over === true && cutOff === null);
  const keys = keysCutOff(items);
  return {
    ...kept,
    greeting: isSilent ? { mode: 'off' } : greetingAgain(config, { hasSpoken, waiting, line }),
    disclosure: hasSpoken || isJoined ? '' : (config.disclosure ?? ''),
    menu: null,
    voicemail: null,
    maxDurationMs: Math.max(0, config.maxDurationMs - failoverState.elapsed_ms),
    resumed: {
      ...(line
        ? onLine(line, history, keys)
        : {
            history: withoutWaiting(history, failoverState.was_cut_off),
            owed: isJoined ? null : owedOf(waiting, keys, cutOff),
          }),
      lastTurn: Math.max(0, ...items.map(({ turn_id: turnId }) => turnId ?? 0)),
      lastMessage: messages.length,
      isJoined,
    },
  };
}

/**
 * Words without an answer, or else the break. Words that asked for keys would have them pressed again, so the
 * model is told beside them what may have become of the keys.
 */
function owedOf(waiting: string, keys: string, cutOff: string | null): string | null {
  return [waiting, keys].join(' ').trim() || cutOff;
}

/** Nothing is owed to an automated line; what became of the keys is for the model to find out. */
function onLine(
  line: SessionLine['line'],
  history: readonly ChatMessage[],
  keys: string,
): Pick<NonNullable<TurnConfig['resumed']>, 'history' | 'owed' | 'line'> {
  const event: ChatMessage[] = keys === '' ? [] : [{ role: 'user', content: keys }];
  return { history: [...history, ...event], owed: null, line };
}

/** The history before the words that are still owed an answer. */
function withoutWaiting(history: readonly ChatMessage[], isCutOff: boolean): readonly ChatMessage[] {
  if (unanswered(history) === '') return withMark(history, isCutOff);
  return history.slice(0, history.findLastIndex(({ role }) => role !== 'user') + 1);
}

/** The first words: a word to the caller, or, on an automated line, to the person who comes. */
function greetingAgain(
  { greeting, phrases }: TurnConfig,
  {
    hasSpoken,
    line,
    waiting,
  }: { readonly hasSpoken: boolean; readonly waiting: string; readonly line: SessionLine['line'] | null },
): TurnConfig['greeting'] {
  if (line && !hasSpoken) return greeting;
  const first = hasSpoken || waiting !== '' || greeting.mode !== 'say' ? '' : ` ${greeting.text}`;
  return { mode: 'say', text: `${phrases.back}${first}` };
}

/** The automated line of the call's last words; null for a person's, or if the agent spoke last. */
function lineOf(
  last: Extract<SessionItem, { type: 'message' }> | undefined,
  isPerson: boolean,
): SessionLine['line'] | null {
  if (last?.role !== 'user') return null;
  const { is } = lineWords(last.content, { isMailbox: false, isAutomated: false, isPerson });
  return isAutomatedLine(is) ? is : null;
}

/** A timeline as messages for the model. */
export function historyOf(items: readonly SessionItem[]): ChatMessage[] {
  return items.flatMap((item): ChatMessage[] => {
    if (item.type === 'message')
      return [
        item.role === 'human'
          ? { role: 'user', content: `[A colleague said: ${item.content}]` }
          : { role: item.role, content: item.content },
      ];
    // An extension was dialled for the agent, which may have no tools.
    if (item.type !== 'tool_result' || item.call_id === EXTENSION_PRESS) return [];
    const { call_id: callId, tool_name: toolName } = item;
    const call = items.find((other) => other.type === 'tool_call' && other.call_id === callId);
    if (call?.type !== 'tool_call') return [];
    return [
      { role: 'assistant', content: '', toolCalls: [{ callId, toolName, input: call.input }] },
      { role: 'tool', callId, toolName, content: item.output ?? item.error ?? '' },
    ];
  });
}

/** The caller's last words if they are unanswered; otherwise empty. */
function unanswered(history: readonly ChatMessage[]): string {
  return history
    .slice(history.findLastIndex(({ role }) => role !== 'user') + 1)
    .map(({ content }) => content)
    .join(' ');
}

/** Describes an interrupted transfer; null if the call did not end in one. */
function transferCutOff(items: readonly SessionItem[]): string | null {
  const at = items.findLastIndex((item) => item.type === 'tool_call' && isTransferCall(item.tool_name));
  const asked = items[at];
  if (asked?.type !== 'tool_call') return null;
  const since = items.slice(at);
  const result = since.findIndex((item) => item.type === 'tool_result' && item.call_id === asked.call_id);
  const hasSpoken = (role: string) => (item: SessionItem) => item.type === 'message' && item.role === role;
  if (result < 0) return since.some(hasSpoken('user')) ? null : CONNECTING_CUT_OFF;
  const settled = since[result];
  const isTalking =
    settled?.type === 'tool_result' &&
    settled.status === 'completed' &&
    !since.slice(result).some(hasSpoken('assistant'));
  return isTalking ? TALK_CUT_OFF : null;
}

/** Describes keys that have no result; empty if there are none, or the talk has gone on since. */
function keysCutOff(items: readonly SessionItem[]): string {
  const at = items.findLastIndex((item) => item.type === 'tool_call' && isPressKeys(item.tool_name));
  const asked = items[at];
  if (asked?.type !== 'tool_call') return '';
  const isSettled = items
    .slice(at)
    .some(
      (item) =>
        (item.type === 'tool_result' && item.call_id === asked.call_id) ||
        (item.type === 'message' && item.role === 'user'),
    );
  return isSettled ? '' : KEYS_CUT_OFF;
}

function withMark(history: readonly ChatMessage[], isCutOff: boolean): readonly ChatMessage[] {
  const last = history.at(-1);
  return isCutOff && last?.role === 'assistant'
    ? [...history.slice(0, -1), { ...last, content: `${last.content} ${CUT_OFF_MARK}` }]
    : history;
}
