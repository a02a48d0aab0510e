/**
 * What silence on an automated line means: a menu has said all its options, an announcement was a person's
 * after all, or nobody will come. Before the agent gives up on a line, silent or repeating a menu, it asks
 * once whether somebody is there, so that it never hangs up on a person.
 */
import { PRESS_KEYS } from '../../../tools/press-keys.ts';
import { announced, isRepeated } from '../../text/line-words.ts';
import { takeTurn } from '../answering/answering.ts';
import { type Draft, emit, explain } from '../draft.ts';
import { beginEnding } from '../ending/ending.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { prepare, say, speak } from '../floor/floor.ts';
import { answerOf, setAnswer } from '../floor/generating.ts';
import { changeLine, noteLine } from '../line-change.ts';
import { awaitsLine, isAutomated } from '../line-state.ts';
import type { LineRules } from '../turn-config.ts';
import type { LineStretch } from '../turn-effects.ts';
import type { Line, Turn } from '../turn-state.ts';
import { noteWords, recordWords } from './announcements.ts';
import { meetPerson } from './meet-person.ts';

/** Silence after which a menu has said its last option; between two of them it is shorter. */
const MENU_QUIET_MS = 2_000;
/**
 * Silence after which words that may be an announcement were a person's, who waits for an answer: where there
 * was a queue, its music would be back by then.
 */
const UNKNOWN_QUIET_MS = { first: 2_500, inQueue: 3_500 } as const;
/** Longest silence of a menu that was answered. */
const MENU_DEAD_MS = 20_000;
/** Longest wait for the person whose phone screens the call. */
const SCREENING_MS = 60_000;
/** Time that somebody has to answer the agent's question whether they are there. */
const PROBE_MS = 10_000;
/** Different menus that are counted. */
const MENUS = 20;

const INTRODUCE =
  '[The phone of the person called asks who is calling and why, and shows them your words. ' +
  'Say your name and the reason for the call in one sentence, and nothing else.]';

/** When the wait is over. */
export function dueOf(line: Line, rules: LineRules | undefined): number {
  const { isProbed, pending, quietSinceMs, sinceMs } = line;
  if (pending) return pending.turn.speechEndMs + quietMs(line, pending.is);
  if (isProbed) return quietSinceMs + PROBE_MS;
  if (line.is === 'menu') return quietSinceMs + MENU_DEAD_MS;
  return line.is === 'hold' ? sinceMs + (rules?.holdMaxMs ?? 0) : quietSinceMs + SCREENING_MS;
}

function quietMs(line: Line, pending: 'menu' | 'unknown'): number {
  if (pending === 'menu') return MENU_QUIET_MS;
  return isAutomated(line) ? UNKNOWN_QUIET_MS.inQueue : UNKNOWN_QUIET_MS.first;
}

/** The timer fired. */
export function onLineDue(draft: Draft): void {
  const { line } = draft;
  // Moved meanwhile: it is started again.
  if (!awaitsLine(draft) || !line || draft.atMs < dueOf(line, draft.config.lines)) return;
  if (line.pending?.is === 'menu') answerMenu(draft, line);
  else if (line.pending) settleUnknown(draft, line.pending.turn, line.isMusic);
  else if (line.is === 'menu' && line.isMusic)
    changeLine(draft, 'hold', { rule: 'line_music', endedBy: 'hold' });
  else if (line.isProbed || line.isMusic) giveUp(draft, reasonOf(line));
  else askWhetherThere(draft);
}

function askWhetherThere(draft: Draft): void {
  noteLine(draft, { isProbed: true });
  say(draft, draft.config.phrases.stillThere, { kind: 'notice', turnId: null, answer: null });
}

function reasonOf({ is }: Line): NonNullable<LineStretch['gaveUp']> {
  return is === 'menu' ? 'dead_end' : is === 'hold' ? 'held_too_long' : 'not_put_through';
}

/** Ends the call: nobody is there, and nobody will be. */
function giveUp(draft: Draft, gaveUp: NonNullable<LineStretch['gaveUp']>): void {
  explain(draft, { about: 'line', rule: gaveUp, anchorMs: draft.line?.sinceMs ?? 0, deadlineMs: draft.atMs });
  changeLine(draft, 'unknown', { rule: gaveUp, endedBy: 'gave_up', gaveUp });
  beginEnding(draft, 'agent_hangup', null);
}

/** Words that may have been an announcement: with music after them they were one. */
function settleUnknown(draft: Draft, turn: Turn, isMusic: boolean): void {
  noteLine(draft, { pending: null });
  if (!isMusic) {
    meetPerson(draft, turn, 'line_silence_after');
    return;
  }
  noteWords(draft, turn);
  changeLine(draft, 'hold', { rule: 'line_music', endedBy: 'hold' });
}

/**
 * The menu has ended: the model chooses. What it writes is not spoken unless the menu takes words, because
 * keys are pressed by a tool.
 */
function answerMenu(draft: Draft, line: Line): void {
  const { pending, menus } = line;
  if (!pending) return;
  const { turn, isSpoken } = pending;
  const words = announced(turn.text);
  const times = 1 + (menus.find((menu) => isSame(words, menu.words))?.times ?? 0);
  noteLine(draft, {
    pending: null,
    menus: [...menus.filter((menu) => !isSame(words, menu.words)), { words, times }].slice(-MENUS),
  });
  recordWords(draft, turn);
  const { menuRepeats = 0, pressesKeys = false } = draft.config.lines ?? {};
  if (times > menuRepeats) {
    if (line.isProbed) giveUp(draft, 'menu_loop');
    else askWhetherThere(draft);
    return;
  }
  const text = menuText(turn.text, { isSpoken, pressesKeys, times });
  takeTurn(draft, {
    ...eventTurn(draft, text, null),
    wantsAudio: isSpoken,
    rule: isSpoken ? 'event' : 'line_menu',
  });
  // A menu gets no hold line.
  const answer = answerOf(draft);
  if (answer) setAnswer(draft, { ...answer, hasHoldLine: true });
}

/** A menu of few words is the same one only if it is word for word. */
function isSame(words: string, earlier: string): boolean {
  return words === earlier || isRepeated(words, earlier);
}

function menuText(
  menu: string,
  { isSpoken, pressesKeys, times }: { isSpoken: boolean; pressesKeys: boolean; times: number },
): string {
  const by = pressesKeys ? `Choose by the tool ${PRESS_KEYS}.` : 'You cannot press keys in this call.';
  const how = isSpoken
    ? 'Answer with the few words that it asks for, and nothing else: they are spoken to it.'
    : `${by} Nothing that you write is spoken: write "wait" to stay.`;
  const again = times > 1 ? ` It has said this ${times} times: choose otherwise than before.` : '';
  return `[An automated menu says: "${menu}" ${how}${again}]`;
}

/** Says once who calls and why, as soon as the agent has the floor. */
export function introduceWhenFree(draft: Draft): void {
  const { caller, line, phase, config } = draft;
  if (line?.is !== 'screening' || line.isIntroduced || phase.is !== 'listening' || caller.is !== 'silent')
    return;
  noteLine(draft, { isIntroduced: true });
  const { introduction = '' } = config.lines ?? {};
  if (introduction === '') {
    const { greeting } = draft.texts;
    const words =
      greeting.mode === 'say' ? greeting.text : greeting.mode === 'generate' ? greeting.fallback : '';
    takeTurn(draft, eventTurn(draft, INTRODUCE, words === '' ? null : words));
    return;
  }
  const utterance = prepare(draft, introduction, { kind: 'notice', turnId: null, isHeardOut: true });
  emit(draft, { do: 'play', replyId: utterance.replyId });
  speak(draft, utterance, null);
}
