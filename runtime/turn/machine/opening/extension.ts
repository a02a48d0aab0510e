/**
 * An extension behind the number that was called: its keys are pressed after the answer, before anything is
 * said. Until then nobody is listened to, because a machine has answered. Timer: `screening`.
 */
import { EXTENSION_PRESS, PRESS_KEYS, pressInput } from '../../../tools/press-keys.ts';
import { type Draft, emit, record } from '../draft.ts';
import { type PressOutcome, pressDueMs, settleExtension } from '../floor/press-keys.ts';
import { enter } from '../phases.ts';
import type { Phase } from '../turn-state.ts';

/** Dials the extension. */
export function dialExtension(
  draft: Draft,
  phase: Extract<Phase, { is: 'connecting' }>,
  extension: string,
): void {
  record(draft, {
    type: 'tool_call',
    call_id: EXTENSION_PRESS,
    tool_name: PRESS_KEYS,
    tool_source: 'builtin',
    input: pressInput(extension),
    turn_id: null,
    createdAtMs: draft.atMs,
  });
  const sinceMs = draft.atMs;
  enter(draft, { ...phase, extension: { sinceMs, dueMs: pressDueMs(draft, extension) } });
  emit(draft, { do: 'pressKeys', pressId: EXTENSION_PRESS, keys: extension });
}

/** Ends the wait for the extension; the opening words, null if none was being dialled. */
export function endExtension(
  draft: Draft,
  outcome: PressOutcome,
): Extract<Phase, { is: 'connecting' }> | null {
  const { phase } = draft;
  if (phase.is !== 'connecting' || !phase.extension) return null;
  settleExtension(draft, phase.extension.sinceMs, outcome);
  const { answer, notice } = phase;
  const connected = { is: 'connecting', answer, notice } as const;
  enter(draft, connected);
  return connected;
}
