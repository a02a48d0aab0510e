/**
 * How a call begins: what is prepared while it rings, and what happens once the far end is connected. A
 * keypad menu (inbound) or machine detection (outbound) precedes the greeting; otherwise the greeting comes
 * first.
 */
import { type Draft, emit, startTimer } from '../draft.ts';
import { eventTurn } from '../floor/event-turn.ts';
import type { PressOutcome } from '../floor/press-keys.ts';
import { noteLine } from '../line-change.ts';
import { isAutomated } from '../line-state.ts';
import { enter } from '../phases.ts';
import { INTERRUPTION_VOICE_MS } from '../turn-config.ts';
import type { OpeningWords, Phase } from '../turn-state.ts';
import { dialExtension, endExtension } from './extension.ts';
import { greet, prepareGreeting } from './greeting.ts';
import { beginMenu, prepareMenu } from './menu.ts';
import { beginScreening } from './screening.ts';

/** The first leg exists but is not yet connected. */
export function onStarted(draft: Draft): void {
  if (draft.phase.is !== 'connecting') return;
  enter(draft, { is: 'connecting', ...firstWords(draft) });
}

/** An automated line, which another worker left, hears none. */
function firstWords(draft: Draft): OpeningWords {
  if (isAutomated(draft.line)) return { answer: null, notice: null };
  return draft.config.menu ? prepareMenu(draft, draft.config.menu) : prepareGreeting(draft);
}

type Connecting = Extract<Phase, { is: 'connecting' }>;

/** The far end is connected in both directions. */
export function onConnected(draft: Draft): void {
  const { phase, config } = draft;
  if (phase.is !== 'connecting' || phase.extension) return;
  if (config.resumed?.isJoined) {
    enter(draft, { is: 'joined', answer: null, cut: null });
    return;
  }
  emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[config.sensitivity] });
  startTimer(draft, 'maxDuration', draft.atMs + config.maxDurationMs);
  if (config.extension === undefined) open(draft, phase);
  else dialExtension(draft, phase, config.extension);
}

/** The extension has been dialled, or could not be: the call begins. */
export function onExtensionOver(draft: Draft, outcome: PressOutcome): void {
  const connecting = endExtension(draft, outcome);
  if (connecting) open(draft, connecting);
}

function open(draft: Draft, phase: Connecting): void {
  const { config } = draft;
  noteLine(draft, { sinceMs: draft.atMs });
  if (draft.recognizer.is !== 'none') emit(draft, { do: 'openRecognizer' });
  if (config.resumed?.owed) draft.waiting = [eventTurn(draft, config.resumed.owed, null)];
  if (config.menu) beginMenu(draft, phase.notice);
  else if (config.voicemail) beginScreening(draft);
  else greet(draft, phase);
}
