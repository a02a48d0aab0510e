/**
 * How a call begins: what is prepared while it rings, and what happens once the far end is connected. A
 * keypad menu (inbound) or machine detection (outbound) precedes the greeting; otherwise the greeting comes
 * first.
 */
import { type Draft, emit, startTimer } from '../draft.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { enter } from '../phases.ts';
import { INTERRUPTION_VOICE_MS } from '../turn-config.ts';
import { greet, prepareGreeting } from './greeting.ts';
import { beginMenu, prepareMenu } from './menu.ts';
import { beginScreening } from './screening.ts';

/** The first leg exists but is not yet connected. */
export function onStarted(draft: Draft): void {
  if (draft.phase.is !== 'connecting') return;
  enter(draft, {
    is: 'connecting',
    ...(draft.config.menu ? prepareMenu(draft, draft.config.menu) : prepareGreeting(draft)),
  });
}

/** The far end is connected in both directions. */
export function onConnected(draft: Draft): void {
  const { phase, config } = draft;
  if (phase.is !== 'connecting') return;
  if (config.resumed?.isJoined) {
    enter(draft, { is: 'joined', answer: null, cut: null });
    return;
  }
  emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[config.sensitivity] });
  startTimer(draft, 'maxDuration', draft.atMs + config.maxDurationMs);
  if (draft.recognizer.is !== 'none') emit(draft, { do: 'openRecognizer' });
  if (config.resumed?.owed) draft.waiting = [eventTurn(draft, config.resumed.owed, null)];
  if (config.menu) beginMenu(draft, phase.notice);
  else if (config.voicemail) beginScreening(draft);
  else greet(draft, phase);
}
