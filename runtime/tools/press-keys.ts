/**
 * The built-in tool by which the model presses keys of the phone (`press_keys`): its definition, and the keys
 * in its arguments. The turn machine decides when they are sent.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { HIDDEN_KEY, hiddenKeys, MAX_KEYS, readKeys } from '#config/telephone-keys.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ToolCall, ToolDefinition } from '#runtime/llm/llm.ts';

/** The tool's name. */
export const PRESS_KEYS = '_press_keys';

/** Id of the press of an extension, after the answer. */
export const EXTENSION_PRESS = 'extension';

/** True for the tool, with or without its underscore: models sometimes drop it. */
export function isPressKeys(toolName: string): boolean {
  return toolName === PRESS_KEYS || toolName === PRESS_KEYS.slice(1);
}

/** Whether the agent may press keys in this call: a phone has a keypad, a page and a room have none. */
export function mayPressKeys({ press_keys, transport }: Pick<CallPlan, 'press_keys' | 'transport'>): boolean {
  return press_keys !== undefined && (transport.type === 'sip_inbound' || transport.type === 'sip_outbound');
}

/** The tool, or null if the agent may not press keys. */
export function pressKeysTool(plan: Pick<CallPlan, 'press_keys' | 'transport'>): ToolDefinition | null {
  if (!mayPressKeys(plan)) return null;
  return {
    name: PRESS_KEYS,
    description:
      'Presses keys of the phone, as a person on a keypad does: to choose from a menu, to dial an ' +
      'extension, to enter a code. The keys are sent after the words of your reply; then you listen.',
    arguments: [
      {
        name: 'keys',
        description:
          'The keys in their order: 0 to 9, *, #, A to D. A w waits half a second, a W one second, a comma ' +
          `two seconds. At most ${MAX_KEYS} characters, such as 1w2345#.`,
      },
    ],
  };
}

const pressWish = z.object({ keys: z.union([z.string(), z.number().int().nonnegative().transform(String)]) });

/** The keys of a call of the tool; null if its arguments have none that can be pressed. */
export function keysOf(input: string): string | null {
  const wish = parseJson(pressWish, input);
  return wish === null ? null : readKeys(wish.keys);
}

/** The arguments of a call. */
export function pressInput(keys: string): string {
  return JSON.stringify({ keys });
}

/** The call as it may be stored: keys that cannot be pressed are hidden as well. */
export function withHiddenKeys(call: ToolCall): ToolCall {
  const keys = keysOf(call.input);
  return { ...call, input: pressInput(keys === null ? '' : hiddenKeys(keys)) };
}

/** Whether a call has dots in place of keys. */
export function hasHiddenKeys({ input }: ToolCall): boolean {
  return input.includes(HIDDEN_KEY);
}

/** The keys of a call as the turn machine sees them, which may be hidden; null if they cannot be pressed. */
export function shownKeysOf(input: string): string | null {
  const wish = parseJson(pressWish, input);
  const keys = wish?.keys ?? '';
  return keys.includes(HIDDEN_KEY) && /^[•wW,]{1,64}$/.test(keys) ? keys : keysOf(input);
}

/** The extension of a call as the turn machine sees it; undefined without one. */
export function shownExtension({
  press_keys,
  transport,
}: Pick<CallPlan, 'press_keys' | 'transport'>): string | undefined {
  const extension = transport.type === 'sip_outbound' ? transport.extension : undefined;
  return extension !== undefined && press_keys?.hide_keys === true ? hiddenKeys(extension) : extension;
}
