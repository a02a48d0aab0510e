/**
 * The keypad menu of an inbound phone call: played before the agent's first words, answered by one key or a
 * spoken option. The choice becomes a dynamic variable, and the conversation begins with the texts that use
 * it. Timer: `menu` counts time without input from the end of the prompt; after the choice it is the longest
 * wait for the prompt to stop.
 */
import { type KeypadMenu, keypadMessage, menuText, optionOfKey, optionOfWords } from '../../text/keypad.ts';
import { type Draft, emit, explain, recordMessage } from '../draft.ts';
import { beginEnding, closedReason, endFromOutside } from '../ending/ending.ts';
import { onRecognizerFailed, reopenRecognizer } from '../endpointing/recognition.ts';
import { prepare, recordHeard } from '../floor/floor.ts';
import { echoes } from '../interruption/interruption.ts';
import { enter, restartDeadline, startPhaseTimer } from '../phases.ts';
import type { TimerName, TurnInput } from '../turn-inputs.ts';
import type { OpeningWords, Phase, Utterance } from '../turn-state.ts';
import { greet, prepareGreeting } from './greeting.ts';

type Menu = Extract<Phase, { is: 'menu' }>;

/**
 * Voice that named no option by then costs an attempt; otherwise a television would hold the menu forever.
 */
const LONGEST_WORDS_MS = 15_000;

/** Prepares the prompt while it rings. */
export function prepareMenu(draft: Draft, menu: KeypadMenu): OpeningWords {
  return { answer: null, notice: promptOf(draft, menu, 1) };
}

function promptOf(draft: Draft, menu: KeypadMenu, attempt: number): Utterance {
  return prepare(draft, menuText(menu, attempt), { kind: 'notice', turnId: null });
}

/** The caller is connected: plays the prompt. */
export function beginMenu(draft: Draft, prompt: Utterance | null): void {
  enter(draft, { is: 'menu', utterance: prompt, attempt: 1, after: 'input', isReady: false });
  if (prompt) emit(draft, { do: 'play', replyId: prompt.replyId });
}

/** Handles one input during the menu. */
export function stepMenu(draft: Draft, phase: Menu, input: TurnInput): void {
  const isAwaited = phase.after === 'input' && phase.utterance === null;
  switch (input.type) {
    case 'digit.pressed':
      onKey(draft, phase, input.digit);
      return;
    case 'transcript.interim':
    case 'transcript.final':
      onWords(draft, phase, input);
      return;
    case 'voice.started':
      // A speaking caller is giving input, but endless noise is not.
      if (isAwaited) startPhaseTimer(draft, 'menu', draft.atMs + LONGEST_WORDS_MS);
      return;
    case 'voice.stopped':
      if (draft.recognizer.is === 'open') emit(draft, { do: 'finalise' });
      if (isAwaited) restartDeadline(draft);
      return;
    case 'playout.started':
      if (phase.utterance?.replyId === input.replyId)
        enter(draft, { ...phase, utterance: { ...phase.utterance, startedMs: input.wireMs } });
      return;
    case 'playout.finished':
    case 'playout.cleared':
      onPrompted(draft, phase, input.replyId, input.heard);
      return;
    case 'reply.failed':
      if (phase.utterance?.startedMs === null) onPrompted(draft, phase, input.replyId, '');
      return;
    case 'variables.changed':
      onVariable(draft, phase, input);
      return;
    case 'timer.fired':
      onTimer(draft, phase, input.name);
      return;
    case 'recognizer.failed':
      onRecognizerFailed(draft, input.isRetryable);
      return;
    case 'leg.closed':
      beginEnding(draft, closedReason(draft, input.reason), null);
      return;
    case 'end.requested':
      endFromOutside(draft, input.reason, input.sayGoodbye ? draft.config.phrases.goodbye : null);
      return;
    default:
      return;
  }
}

function onTimer(draft: Draft, phase: Menu, name: TimerName): void {
  switch (name) {
    case 'maxDuration':
      endFromOutside(draft, 'conversation_timeout', draft.config.phrases.timeIsUp);
      return;
    case 'reopen':
      reopenRecognizer(draft);
      return;
    case 'menu':
      // The leg did not report what was heard of the prompt: continue without it.
      if (phase.utterance) onPrompted(draft, phase, phase.utterance.replyId, '');
      else if (phase.after === 'input') failAttempt(draft, phase, 'no_input');
      return;
    default:
      return;
  }
}

/** Any key stops the prompt; an unknown one costs an attempt. */
function onKey(draft: Draft, phase: Menu, key: string): void {
  const { menu } = draft.config;
  const option = menu && optionOfKey(menu, key);
  if (option && phase.after !== 'greeting')
    choose(draft, phase, { value: option.value, said: keypadMessage(key) });
  else if (!option && phase.after === 'input') failAttempt(draft, phase, 'unknown_key');
}

function onWords(
  draft: Draft,
  phase: Menu,
  { text, type }: Extract<TurnInput, { type: 'transcript.interim' | 'transcript.final' }>,
): void {
  const { menu, language } = draft.config;
  if (!menu?.acceptsSpeech || phase.after !== 'input') return;
  if (echoes(text, phase.utterance?.text ?? '')) return;
  const option = optionOfWords(menu, text, language);
  // Words during the prompt count once they are final: until then they may be its echo.
  if (option && (type === 'transcript.final' || phase.utterance === null))
    choose(draft, phase, { value: option.value, said: text.trim() });
  else if (!option && type === 'transcript.final' && phase.utterance === null)
    failAttempt(draft, phase, 'unknown_words');
}

/** The prompt has ended, complete or cut. */
function onPrompted(draft: Draft, phase: Menu, replyId: string, heard: string): void {
  if (phase.utterance?.replyId !== replyId) return;
  recordHeard(draft, phase.utterance, heard);
  enter(draft, { ...phase, utterance: null });
  continueAfterPrompt(draft);
}

/** What follows the prompt, once it has ended. */
function continueAfterPrompt(draft: Draft): void {
  const { phase } = draft;
  const { menu } = draft.config;
  if (phase.is !== 'menu' || phase.utterance !== null || !menu) return;
  if (phase.after === 'retry') {
    const attempt = phase.attempt + 1;
    const prompt = promptOf(draft, menu, attempt);
    emit(draft, { do: 'play', replyId: prompt.replyId });
    enter(draft, { ...phase, utterance: prompt, attempt, after: 'input' });
  } else if (phase.after === 'greeting' && phase.isReady) {
    const greeting = prepareGreeting(draft);
    enter(draft, { is: 'listening' });
    greet(draft, greeting);
  }
}

function failAttempt(draft: Draft, phase: Menu, rule: string): void {
  const { menu } = draft.config;
  if (!menu) return;
  explain(draft, { about: 'menu', rule, anchorMs: draft.atMs, deadlineMs: draft.atMs });
  if (phase.attempt >= menu.maxAttempts) choose(draft, phase, { value: menu.fallbackValue, said: null });
  else leavePrompt(draft, { ...phase, after: 'retry' });
}

/** Applies the choice of the caller, or the fallback (`said` null). */
function choose(
  draft: Draft,
  phase: Menu,
  choice: { readonly value: string; readonly said: string | null },
): void {
  const { menu } = draft.config;
  if (!menu) return;
  explain(draft, {
    about: 'menu',
    rule: choice.said === null ? 'fallback' : 'chosen',
    anchorMs: draft.atMs,
    deadlineMs: draft.atMs,
  });
  if (choice.said !== null) {
    recordMessage(draft, { role: 'user', content: choice.said, turnId: null, createdAtMs: draft.atMs });
    draft.history = [...draft.history, { role: 'user', content: choice.said }];
  }
  // Later words belong to the menu.
  draft.pendingTranscript = { is: 'ignored' };
  emit(draft, { do: 'setVariable', name: menu.variable, value: choice.value });
  leavePrompt(draft, { ...phase, after: 'greeting' });
}

/** Cuts a prompt that is playing; the next step waits until its heard text is known. */
function leavePrompt(draft: Draft, phase: Menu): void {
  const isCut = draft.phase.is === 'menu' && draft.phase.after !== 'input';
  enter(draft, phase);
  if (phase.utterance && !isCut) emit(draft, { do: 'clear', replyId: phase.utterance.replyId });
  continueAfterPrompt(draft);
}

/** The texts that use the choice have been rendered. */
function onVariable(
  draft: Draft,
  phase: Menu,
  { greeting, hangUpFarewell, transfer }: Extract<TurnInput, { type: 'variables.changed' }>,
): void {
  draft.texts = { greeting, hangUpFarewell, transfer };
  enter(draft, { ...phase, isReady: true });
  continueAfterPrompt(draft);
}
