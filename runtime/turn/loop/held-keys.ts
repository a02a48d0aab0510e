/**
 * The keys of a call that hides them. The turn machine, the timeline and the flight log see dots in place of
 * the keys, which are kept here until they are sent.
 */
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ToolCall } from '../../llm/llm.ts';
import { EXTENSION_PRESS, hasHiddenKeys, keysOf, withHiddenKeys } from '../../tools/press-keys.ts';
import type { Effect } from '../machine/turn-effects.ts';
import { claimsKeys } from '../text/claimed-keys.ts';

/** The keys of one call. */
export class HeldKeys {
  readonly #isHidden: boolean;
  readonly #language: string;
  readonly #held = new Map<string, string>();

  constructor({ config, press_keys, transport }: Pick<CallPlan, 'config' | 'press_keys' | 'transport'>) {
    this.#language = config.voice.speaking_language;
    this.#isHidden = press_keys?.hide_keys === true;
    if (this.#isHidden && transport.type === 'sip_outbound' && transport.extension !== undefined)
      this.#held.set(EXTENSION_PRESS, transport.extension);
  }

  /** The model's call of the tool, as the turn machine sees it. */
  hide(call: ToolCall): ToolCall {
    // A model may copy the dots of an earlier call, which are no keys.
    if (!this.#isHidden) return hasHiddenKeys(call) ? withHiddenKeys(call) : call;
    const keys = keysOf(call.input);
    if (keys !== null) this.#held.set(call.callId, keys);
    return withHiddenKeys(call);
  }

  /** Whether words of the agent claim that it presses keys. */
  isClaimedIn(text: string): boolean {
    return claimsKeys(text, this.#language);
  }

  /** The keys to send; each press is sent once. */
  take({ keys, pressId }: Extract<Effect, { do: 'pressKeys' }>): string {
    if (!this.#isHidden) return keys;
    const held = this.#held.get(pressId) ?? '';
    this.#held.delete(pressId);
    return held;
  }
}
