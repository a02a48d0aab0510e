/**
 * Which of the texts an agent says are the same in every call: those its configuration gives when it is
 * rendered for nobody in particular. A voice's audio of them may be kept for other calls, so nothing that was
 * written for one caller, and nothing a model wrote, is among them.
 */
import type { CallPlan } from '#protocol/call-plan.ts';
import { menuText } from '../text/keypad.ts';
import { renderText } from '../text/variables.ts';
import { type TurnConfig, turnConfig } from './turn-config.ts';

/** Tells the fixed texts of a plan's agent, and what is made of several of them one behind the other. */
export function fixedTexts(plan: CallPlan): (text: string) => boolean {
  const { defaults, on_missing: onMissing } = plan.config.variables;
  const forAnybody = (text: string) =>
    renderText(text, { variables: defaults, systemVariables: {}, onMissing });
  const config = turnConfig(plan, null, forAnybody);
  // What an override says is said to this caller only.
  const greeting = plan.first_message_override === null ? greetingText(config) : '';
  const known = [greeting, ...otherTexts(config)].filter((text) => text !== '');
  return (text) => isJoinedOf(known, text);
}

/**
 * True when a text is some of these parts, a space between each two. Each place where a part may begin is
 * tried once, whatever led to it.
 */
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
