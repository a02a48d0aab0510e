/**
 * Answering machine detection for outbound calls (`amd_enabled`): the greeting stays prepared until a person
 * is there; a machine gets what the voicemail configuration says. Proof of a machine counts for some seconds
 * after the greeting began as well, because a mailbox may pause early. A tone counts until a turn was
 * answered: a person may have a microwave. Timer: `screening` is the next judgement; in a mailbox, the latest
 * end of its greeting.
 */

import { lineWords } from '../../text/line-words.ts';
import { type Draft, emit, explain, recordMessage } from '../draft.ts';
import { beginEnding, stopListening } from '../ending/ending.ts';
import { onVoiceStarted } from '../endpointing/voice.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { clearUtterance, dropPendingGeneration, recordHeard } from '../floor/floor.ts';
import { answerOf, changeGeneration, newAnswer, setAnswer, startGeneration } from '../floor/generating.ts';
import { abandonPress } from '../floor/press-keys.ts';
import { enter, restartDeadline, startPhaseTimer } from '../phases.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Answer, Phase, Screening, Turn } from '../turn-state.ts';
import {
  certainMachine,
  type Greeting,
  LATE_MACHINE_MS,
  LONGEST_GREETING_MS,
  whoAnswered,
} from './answering-machine.ts';
import { greet } from './greeting.ts';

type Voicemail = Extract<Phase, { is: 'voicemail' }>;

/** Silence after which a mailbox without a beep is assumed to record. */
const MAILBOX_SILENCE_MS = 3_000;

/** The far end has answered: starts the detection. */
export function beginScreening(draft: Draft): void {
  draft.screening = {
    greeting: { answeredMs: draft.atMs, startMs: null, endMs: null, text: '', tone: null },
    finals: '',
    hasTalked: false,
  };
  judgeWhoAnswered(draft, draft.screening.greeting);
}

/** Handles inputs that show who answered; true when handled. */
export function screen(draft: Draft, screening: Screening, input: TurnInput): boolean {
  const hasTalked = screening.hasTalked || hearsAnswer(draft.phase);
  draft.screening = noted({ ...screening, hasTalked }, input);
  const { greeting } = draft.screening;
  if (draft.phase.is !== 'connecting') {
    watchForMachine(draft, greeting);
    return draft.phase.is === 'voicemail';
  }
  switch (input.type) {
    case 'leg.closed':
    case 'end.requested':
    case 'user.hung_up':
      leaveScreening(draft);
      return false;
    case 'voice.stopped':
      if (draft.recognizer.is === 'open') emit(draft, { do: 'finalise' });
      judgeWhoAnswered(draft, greeting);
      return true;
    case 'voice.started':
    case 'voice.reached':
    case 'transcript.interim':
    case 'transcript.final':
    case 'transcript.finalised':
    case 'tone.heard':
      judgeWhoAnswered(draft, greeting);
      return true;
    case 'timer.fired':
      if (input.name === 'screening') judgeWhoAnswered(draft, greeting);
      return input.name === 'screening';
    default:
      return false;
  }
}

/** The callee is hearing the agent's answer to their own turn. */
function hearsAnswer(phase: Phase): boolean {
  return (
    phase.is === 'speaking' &&
    phase.utterance.startedMs !== null &&
    phase.answer !== null &&
    phase.answer.turn.source !== 'event'
  );
}

function noted(screening: Screening, input: TurnInput): Screening {
  const { greeting, finals } = screening;
  switch (input.type) {
    case 'voice.started':
      return {
        ...screening,
        greeting: { ...greeting, startMs: greeting.startMs ?? input.speechStartMs, endMs: null },
      };
    case 'voice.stopped':
      return { ...screening, greeting: { ...greeting, endMs: input.speechEndMs } };
    case 'transcript.interim':
      return { ...screening, greeting: { ...greeting, text: `${finals} ${input.text}`.trim() } };
    case 'transcript.final': {
      const text = `${finals} ${input.text}`.trim();
      return { ...screening, greeting: { ...greeting, text }, finals: text };
    }
    case 'tone.heard':
      return screening.hasTalked ? screening : { ...screening, greeting: { ...greeting, tone: input.tone } };
    default:
      return screening;
  }
}

function judgeWhoAnswered(draft: Draft, greeting: Greeting): void {
  const { phase } = draft;
  if (phase.is !== 'connecting') return;
  const verdict = whoAnswered(greeting, draft.atMs);
  if (verdict.is === 'undecided') {
    startPhaseTimer(draft, 'screening', verdict.untilMs);
    return;
  }
  if (verdict.is === 'machine' && !isScreenedByPhone(draft, greeting)) {
    onMachine(draft, greeting, verdict.rule);
    return;
  }
  if (isNotSimplyAPerson(draft, greeting)) {
    handToLine(draft, greeting);
    return;
  }
  explain(draft, {
    about: 'answering',
    rule: verdict.rule,
    anchorMs: greeting.answeredMs,
    deadlineMs: draft.atMs,
  });
  recordGreeting(draft, greeting);
  // The agent's first words answer what was said before them; later words belong to it too.
  if (greeting.startMs !== null) draft.pendingTranscript = { is: 'ignored' };
  const { answeredMs, endMs, startMs } = greeting;
  greet(draft, phase, endMs ?? (startMs === null ? answeredMs : draft.atMs));
}

/** Nothing is known of a far end before its first words; those of mailboxes were judged apart. */
const FIRST_WORDS = { isMailbox: false, isAutomated: false, isPerson: false };

/** Whether a phone asks who calls, which a mailbox does in nearly the same words. */
function isScreenedByPhone({ line }: Draft, { text, tone }: Greeting): boolean {
  return line !== null && tone === null && lineWords(text, FIRST_WORDS).is === 'screening';
}

/** Whether an automated line answered, as far as its first words or its music tell. */
function isNotSimplyAPerson({ line }: Draft, { text }: Greeting): boolean {
  if (!line) return false;
  return line.isMusic || (text !== '' && lineWords(text, FIRST_WORDS).is !== 'person');
}

/** The greeting waits for a person; the line is judged by what it has said so far. */
function handToLine(draft: Draft, { answeredMs, endMs, startMs, text }: Greeting): void {
  leaveScreening(draft);
  const { line } = draft;
  if (!line) return;
  const turn: Turn = {
    ...eventTurn(draft, text, null),
    source: 'speech',
    rule: 'answered',
    startMs: startMs ?? answeredMs,
    speechEndMs: endMs ?? draft.atMs,
  };
  draft.line = { ...line, owesGreeting: true, heard: text === '' ? [] : [turn] };
  // It is still talking.
  if (startMs !== null && endMs === null) onVoiceStarted(draft, draft.atMs);
}

/** A mailbox after a menu, a queue or a screening. */
export function leaveToMachine(
  draft: Draft,
  said: { readonly startMs: number; readonly endMs: number; readonly text: string },
): void {
  onMachine(draft, { ...said, answeredMs: said.startMs, tone: null }, 'words');
}

/** A person seems to be there; keeps watching for a machine. */
function watchForMachine(draft: Draft, greeting: Greeting): void {
  const isOver =
    draft.phase.is === 'ending' ||
    draft.phase.is === 'voicemail' ||
    draft.atMs > greeting.answeredMs + LATE_MACHINE_MS;
  const verdict = isOver ? null : certainMachine(greeting);
  if (isOver) draft.screening = null;
  else if (verdict && !isScreenedByPhone(draft, greeting)) onMachine(draft, greeting, verdict.rule);
}

function recordGreeting(draft: Draft, { startMs, text }: Greeting): void {
  if (text === '') return;
  recordMessage(draft, { role: 'user', content: text, turnId: null, createdAtMs: startMs ?? draft.atMs });
  draft.history = [...draft.history, { role: 'user', content: text }];
}

/** Releases the prepared greeting. */
function leaveScreening(draft: Draft): void {
  const { phase } = draft;
  draft.screening = null;
  if (phase.is !== 'connecting') return;
  for (const prepared of [phase.notice, phase.answer?.generation])
    if (prepared) emit(draft, { do: 'discard', replyId: prepared.replyId });
  enter(draft, { is: 'listening' });
}

function onMachine(draft: Draft, greeting: Greeting, rule: string): void {
  explain(draft, {
    about: 'answering',
    rule: `machine_${rule}`,
    anchorMs: greeting.answeredMs,
    deadlineMs: draft.atMs,
  });
  if (draft.phase.is === 'connecting') recordGreeting(draft, greeting);
  leaveScreening(draft);
  const { voicemail } = draft.config;
  if (rule === 'fax' || voicemail === null || voicemail.message === '' || voicemail.action === 'hangup') {
    beginEnding(draft, 'agent_hangup', null);
    return;
  }
  const cut = leaveFloor(draft);
  const phase: Voicemail = {
    is: 'voicemail',
    cut,
    answer: voicemail.action === 'leave_prompt_message' ? composed(draft, voicemail.message) : null,
    openMs: rule === 'beep' ? draft.atMs : null,
    capMs: draft.atMs + LONGEST_GREETING_MS,
  };
  enter(draft, phase);
  const isTalking = greeting.startMs !== null && greeting.endMs === null;
  awaitSilence(draft, phase, isTalking ? null : (greeting.endMs ?? draft.atMs));
  leaveMessage(draft);
}

/** Stops whatever the agent was saying to the machine. */
function leaveFloor(draft: Draft): Voicemail['cut'] {
  abandonPress(draft);
  const { phase } = draft;
  const audible = 'utterance' in phase ? phase.utterance : null;
  stopListening(draft, { isForGood: false });
  dropPendingGeneration(draft, answerOf(draft), audible);
  if (audible && phase.is !== 'clearing') clearUtterance(draft, audible, phase.is === 'paused');
  return audible;
}

function composed(draft: Draft, instruction: string): Answer {
  const turn = eventTurn(
    draft,
    `[A voicemail box has answered. Say the message to leave, and nothing else: ${instruction}]`,
    null,
  );
  const generation = startGeneration(draft, turn, { rounds: [], attempt: 1, isSpeculative: false });
  return newAnswer(turn, generation, { hasHoldLine: true });
}

/** Handles one input in a mailbox, until the message has been spoken. */
export function stepVoicemail(draft: Draft, phase: Voicemail, input: TurnInput): void {
  switch (input.type) {
    case 'tone.heard':
      beginRecording(draft, phase);
      return;
    case 'voice.started':
      awaitSilence(draft, phase, null);
      return;
    case 'voice.stopped':
      awaitSilence(draft, phase, input.speechEndMs);
      return;
    case 'timer.fired':
      if (input.name !== 'screening') return;
      if (phase.openMs === null) beginRecording(draft, phase);
      else if (draft.atMs >= phase.openMs + draft.config.generationCapMs) onMessageStalled(draft, phase);
      return;
    case 'reply.piece':
      changeGeneration(draft, input.replyId, (generation) => ({
        ...generation,
        text: `${generation.text} ${input.text}`.trim(),
      }));
      return;
    case 'reply.generated':
    case 'reply.failed':
      if (input.type === 'reply.failed' && input.stage === 'synthesis') return;
      changeGeneration(draft, input.replyId, (generation) => ({ ...generation, status: 'done' }));
      leaveMessage(draft);
      return;
    case 'playout.finished':
    case 'playout.cleared':
      if (phase.cut?.replyId !== input.replyId) return;
      recordHeard(draft, phase.cut, input.heard);
      enter(draft, { ...phase, answer: answerOf(draft), cut: null });
      return;
    case 'leg.closed':
      beginEnding(draft, input.reason === 'failed' ? 'internal_error' : 'user_hangup', null);
      return;
    case 'end.requested':
      beginEnding(draft, input.reason, null);
      return;
    default:
      return;
  }
}

/** A mailbox without a beep records some time after its greeting ended; `endMs` null: it is still talking. */
function awaitSilence(draft: Draft, { capMs, openMs }: Voicemail, endMs: number | null): void {
  if (openMs !== null) return;
  startPhaseTimer(draft, 'screening', endMs === null ? capMs : Math.min(capMs, endMs + MAILBOX_SILENCE_MS));
}

/** The mailbox records: a message that is still being composed must be ready soon. */
function beginRecording(draft: Draft, phase: Voicemail): void {
  enter(draft, { ...phase, openMs: phase.openMs ?? draft.atMs });
  if (phase.openMs === null) restartDeadline(draft);
  leaveMessage(draft);
}

/** The composed message is late: the text so far is all there is. */
function onMessageStalled(draft: Draft, { answer, openMs }: Voicemail): void {
  explain(draft, {
    about: 'progress',
    rule: 'stalled_voicemail',
    anchorMs: openMs ?? draft.atMs,
    deadlineMs: draft.atMs,
  });
  if (answer) setAnswer(draft, { ...answer, generation: { ...answer.generation, status: 'done' } });
  leaveMessage(draft);
}

/** Speaks the message once the mailbox records and the text is ready; the call ends after its last word. */
function leaveMessage(draft: Draft): void {
  const { phase } = draft;
  if (
    phase.is !== 'voicemail' ||
    phase.openMs === null ||
    (phase.answer && phase.answer.generation.status !== 'done')
  )
    return;
  const { disclosure = '', voicemail } = draft.config;
  const message = phase.answer ? phase.answer.generation.text : (voicemail?.message ?? '');
  beginEnding(draft, 'agent_hangup', `${disclosure} ${message}`.trim());
}
