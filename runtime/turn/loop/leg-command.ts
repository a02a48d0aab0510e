/** Effects of the turn machine that are commands to the leg. */
import type { LegCommand } from '#media/leg/leg.ts';
import { unsureReachMs } from '../machine/turn-config.ts';
import type { Effect } from '../machine/turn-effects.ts';
import type { HeldKeys } from './held-keys.ts';

/** The command of an effect; `keys` knows the hidden ones. */
export function legCommand(
  effect: Extract<Effect, { do: 'watchVoice' | 'pause' | 'resume' | 'pressKeys' | 'dropKeys' }>,
  keys: HeldKeys,
): LegCommand {
  switch (effect.do) {
    case 'watchVoice':
      return { ...effect, unsureReachMs: unsureReachMs(effect.reachMs) };
    case 'pressKeys':
      return { do: 'sendDigits', digits: keys.take(effect), pressId: effect.pressId };
    case 'dropKeys':
      return { do: 'dropDigits' };
    default:
      return effect;
  }
}
