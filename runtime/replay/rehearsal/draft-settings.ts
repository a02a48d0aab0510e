/** The settings of the turn machine that a call would have had under the draft. */
import { turnSettings } from '#protocol/conversation-settings.ts';
import type { RehearsedChanges } from '#protocol/rehearsal.ts';
import { keypadOf, type TurnConfig } from '../../turn/machine/turn-config.ts';

/**
 * Puts changes of the draft over the settings that a call ran with. What the request of the call had
 * overridden, and what the draft does not change, stays.
 */
export function draftSettings(ran: TurnConfig, changes: RehearsedChanges): Partial<TurnConfig> {
  const {
    max_duration_seconds: seconds,
    hang_up_call_refuse_questions: refusesQuestions,
    keypad_input: keypad,
    ...replayed
  } = changes;
  return {
    ...turnSettings(replayed),
    // A call that was taken over has what the worker before has left of it.
    ...(seconds !== undefined && !ran.resumed && { maxDurationMs: seconds * 1_000 }),
    ...(refusesQuestions !== undefined && { hangUpRefuseQuestions: refusesQuestions }),
    ...(keypad !== undefined && { keypad: keypadOf(keypad) }),
  };
}
