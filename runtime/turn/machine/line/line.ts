/**
 * The far end of an outgoing call, judged by its words, by music, and by the silence after both. Runs after
 * each step, with what the step left. In a menu, in a queue and while a phone screens the call, the agent is
 * silent unless it is asked something. Timer: `line` is the end of the silence after words that may go on, of
 * the wait for a person, and of the patience with a menu that says nothing.
 */
import { announced, isRepeated, type LineWords, lineWords } from '../../text/line-words.ts';
import { type Draft, explain, startTimer, stopTimers } from '../draft.ts';
import { mergedTurn } from '../endpointing/merged-turn.ts';
import { admitJudged } from '../endpointing/turn-admission.ts';
import { dropSpeculation } from '../floor/generating.ts';
import { changeLine, noteLine } from '../line-change.ts';
import { awaitsLine, isAutomated, isTalk } from '../line-state.ts';
import { isMailbox } from '../opening/answering-machine.ts';
import { leaveToMachine } from '../opening/screening.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Line, Turn } from '../turn-state.ts';
import { giveFloor, giveFloorToWords, keepAnnouncement, noteWords, quieten } from './announcements.ts';
import { dueOf, introduceWhenFree, onLineDue } from './line-waits.ts';
import { meetPerson } from './meet-person.ts';

/** Follows one step of the machine. */
export function followLine(draft: Draft, input: TurnInput): void {
  const { line } = draft;
  if (!line) return;
  if (input.type === 'music.started' || input.type === 'music.stopped')
    noteLine(draft, { isMusic: input.type === 'music.started' });
  if (!isTalk(draft.phase)) {
    leaveLine(draft, line);
    return;
  }
  // Keys are pressed to their end: what is heard meanwhile is judged after them.
  if (draft.phase.is !== 'pressing') for (const turn of line.heard) judge(draft, turn);
  if (input.type === 'music.started' || startsInMusic(draft)) onMusic(draft);
  // The queue began while keys were pressed: what the reply would say after them is for nobody.
  if (draft.line?.is === 'hold' && isPressOver(input)) giveFloor(draft);
  if (input.type === 'timer.fired' && input.name === 'line') {
    noteLine(draft, { dueMs: null });
    onLineDue(draft);
  }
  introduceWhenFree(draft);
  keepTime(draft);
}

/** Keys have been sent, or could not be. */
function isPressOver(input: TurnInput): boolean {
  return input.type === 'keys.sent' || (input.type === 'timer.fired' && input.name === 'progress');
}

/** The agent no longer talks with the far end: another person does, or the call ends. */
function leaveLine(draft: Draft, line: Line): void {
  const { is } = draft.phase;
  if (is === 'connecting') return;
  if (isAutomated(line)) {
    const isOver = is === 'ending' || is === 'ended';
    changeLine(draft, 'unknown', { rule: 'line_left', endedBy: isOver ? 'call_ended' : 'handed_over' });
  }
  if (line.dueMs !== null) stopTimers(draft, 'line');
  if (line.heard.length > 0 || line.pending !== null || line.dueMs !== null)
    noteLine(draft, { heard: [], pending: null, dueMs: null });
}

/** Restarts the timer where it is due at another time than before. */
function keepTime(draft: Draft): void {
  if (!isTalk(draft.phase) || !draft.line) return;
  const isQuiet = draft.phase.is === 'listening' && draft.caller.is === 'silent';
  // It is quiet from the step on in which the timer starts.
  if (isAutomated(draft.line) && (!isQuiet || draft.line.dueMs === null))
    noteLine(draft, { quietSinceMs: draft.atMs });
  const dueMs = awaitsLine(draft) ? dueOf(draft.line, draft.config.lines) : null;
  if (dueMs === draft.line.dueMs) return;
  noteLine(draft, { dueMs });
  if (dueMs === null) stopTimers(draft, 'line');
  else startTimer(draft, 'line', dueMs);
}

/** Judges a turn of the far end. */
function judge(draft: Draft, turn: Turn): void {
  const { line } = draft;
  if (!line || !isTalk(draft.phase)) return;
  noteLine(draft, { heard: line.heard.filter((other) => other !== turn) });
  const said = wordsOn(draft, line, turn);
  if (!said.isAgain && (said.is === 'person' || (said.is === 'unknown' && line.is === 'person'))) {
    meetPerson(draft, turn, said.rule);
    return;
  }
  // Only its repetition shows that nobody said this.
  const isTold = said.isAgain && (said.is === 'person' || said.is === 'unknown');
  dropSpeculation(draft);
  keepAnnouncement(draft, announced(turn.text));
  explain(draft, {
    about: 'line',
    rule: isTold ? 'line_repeated' : said.rule,
    anchorMs: turn.speechEndMs,
    deadlineMs: draft.atMs,
  });
  if (isTold) quieten(draft);
  else hear(draft, turn, said);
}

type Heard = LineWords & { readonly isAgain: boolean };

function wordsOn({ config }: Draft, line: Line, { text }: Turn): Heard {
  const words = announced(text);
  const mayBeMailbox = config.voicemail !== null && (isAutomated(line) || line.owesGreeting);
  const said = lineWords(text, {
    isMailbox: mayBeMailbox && isMailbox(text),
    isAutomated: isAutomated(line),
    isPerson: line.is === 'person',
  });
  const isAgain = isAutomated(line) && line.announcements.some((earlier) => isRepeated(words, earlier));
  return { ...said, isAgain };
}

/** Takes words that are not simply a person's. */
function hear(draft: Draft, turn: Turn, said: Heard): void {
  switch (said.is) {
    case 'machine':
      noteWords(draft, turn);
      changeLine(draft, 'machine', { rule: said.rule, endedBy: 'machine' });
      leaveToMachine(draft, { startMs: turn.startMs, endMs: turn.speechEndMs, text: turn.text });
      return;
    case 'hold':
      onHold(draft, turn, said);
      return;
    case 'screening':
      giveFloorToWords(draft);
      if (!said.isAgain) noteWords(draft, turn);
      changeLine(draft, 'screening', { rule: said.rule, endedBy: 'screening' });
      return;
    case 'menu':
      giveFloorToWords(draft);
      changeLine(draft, 'menu', { rule: said.rule, endedBy: 'menu' });
      awaitMore(draft, turn, { is: 'menu', isSpoken: said.isSpoken });
      return;
    default:
      if (said.rule === 'line_ended') {
        onEnded(draft, turn, said);
        return;
      }
      quieten(draft);
      if (draft.phase.is === 'listening') awaitMore(draft, turn, { is: 'unknown', isSpoken: false });
  }
}

function onHold(draft: Draft, turn: Turn, said: Heard): void {
  const { line } = draft;
  if (!line) return;
  if (said.rule === 'line_asked_to_wait' && !isAutomated(line) && !line.owesGreeting) {
    // A person asks: the agent agrees, and is silent from then on.
    admitJudged(draft, turn);
  } else {
    if (line.is !== 'screening') giveFloorToWords(draft);
    if (!said.isAgain) noteWords(draft, turn);
  }
  noteLine(draft, { pending: null });
  // A phone that screens asks to stay on the line, too.
  if (line.is !== 'screening') changeLine(draft, 'hold', { rule: said.rule, endedBy: 'hold' });
}

/** Nobody will come, unless the words were a person's after all: the silence of a dead end decides. */
function onEnded(draft: Draft, turn: Turn, said: Heard): void {
  giveFloorToWords(draft);
  noteLine(draft, { pending: null });
  if (!said.isAgain) noteWords(draft, turn);
  changeLine(draft, 'menu', { rule: said.rule, endedBy: 'menu' });
}

/** The words may go on: the silence after them decides. */
function awaitMore(
  draft: Draft,
  turn: Turn,
  { is, isSpoken }: { readonly is: 'menu' | 'unknown'; readonly isSpoken: boolean },
): void {
  const before = draft.line?.pending ?? null;
  const isMenu = is === 'menu' || before?.is === 'menu';
  noteLine(draft, {
    pending: {
      turn: before ? mergedTurn(before.turn, turn) : turn,
      is: isMenu ? 'menu' : 'unknown',
      // Keys are surer than words where a menu takes both.
      isSpoken: before?.is === 'menu' ? before.isSpoken && isSpoken : isSpoken,
    },
  });
}

function startsInMusic({ line, phase }: Draft): boolean {
  return line?.is === 'unknown' && line.isMusic && line.owesGreeting && phase.is === 'listening';
}

/** Music without a person's words is a queue. A person who comes back to it is heard by their words. */
function onMusic(draft: Draft): void {
  const { line, phase } = draft;
  // Whoever screens a call may play something, and so may a menu between its options.
  if (!line || line.is === 'screening' || line.pending?.is === 'menu') return;
  if (line.is === 'menu' && phase.is !== 'listening') return;
  giveFloor(draft);
  changeLine(draft, 'hold', { rule: 'line_music', endedBy: 'hold' });
}
