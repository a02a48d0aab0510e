/**
 * Recognises agent texts that are identical in every call: those rendered from the configuration without a
 * caller's data. Their audio may be cached across calls, so texts written for one caller or by a model must
 * not be among them.
 */
import type { CallPlan } from '#protocol/call-plan.ts';
import { type TurnConfig, turnConfig } from '../machine/turn-config.ts';
import { menuText } from '../text/keypad.ts';
import { renderText } from '../text/variables.ts';

/** Returns a test for the fixed texts of a plan's agent, and for several of them joined. */
export function fixedTexts(plan: CallPlan): (text: string) => boolean {
  const { defaults, on_missing: onMissing } = plan.config.variables;
  const forAnybody = (text: string) =>
    renderText(text, { variables: defaults, systemVariables: {}, onMissing });
  const config = turnConfig(plan, null, forAnybody);
  // An overridden greeting is for this caller only.
  const greeting = plan.first_message_override === null ? greetingText(config) : '';
  const known = [greeting, ...otherTexts(config)].filter((text) => text !== '');
  return (text) => isJoinedOf(known, text);
}

/** True when a text consists of these parts, separated by spaces. Tries each position once. */
function isJoinedOf(parts: readonly string[], text: string): boolean {
  const starts = new Set([0]);
  for (const start of starts) {
    for (const part of parts) {
      if (!text.startsWith(part, start)) continue;
      const end = start + part.length;
      if (end === text.length) return true;
      if (text[end] === ' ') starts.add(end + 1);
    }
  }
  return false;
}

function greetingText({ greeting }: TurnConfig): string {
  if (greeting.mode === 'off') return '';
  return greeting.mode === 'say' ? greeting.text : greeting.fallback;
}

function otherTexts({
  disclosure = '',
  hangUpFarewell,
  menu,
  optOut,
  phrases,
  transfer,
  voicemail,
}: TurnConfig): string[] {
  return [
    disclosure,
    hangUpFarewell.message,
    optOut?.confirmation ?? '',
    voicemail?.message ?? '',
    ...(menu ? [menuText(menu, 1), menu.retryMessage] : []),
    ...(transfer?.destinations ?? []).flatMap(({ announcement, onFailure }) => [
      announcement,
      onFailure.message,
    ]),
    ...Object.values(phrases),
  ];
}
