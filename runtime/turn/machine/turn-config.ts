/**
 * The turn machine's configuration for one call: the plan's conversation settings and the abilities of its
 * engines. The flight log's header contains all of it, so a replay needs nothing else and may change any of
 * it.
 */
import type { AgentConfig } from '#config/agent-config.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { type TurnSettings, turnSettings } from '#protocol/conversation-settings.ts';
import type { SessionLine } from '#protocol/session-record.ts';
import type { ChatMessage } from '../../llm/llm.ts';
import { mayPressKeys, shownExtension } from '../../tools/press-keys.ts';
import type { Slot } from '../text/expectation.ts';
import type { KeypadMenu } from '../text/keypad.ts';
import { type Phrases, phrasesFor } from '../text/phrases.ts';
import { argumentsOfSchema, slotsOf } from '../text/tool-slots.ts';
import { type TransferRules, transferRules } from './ending/transfer-rules.ts';

/**
 * How the conversation begins (`prompt.first_message_mode`, or the request's override of the first message).
 */
export type Greeting =
  | { readonly mode: 'off' }
  | { readonly mode: 'say'; readonly text: string }
  | { readonly mode: 'generate'; readonly instruction: string; readonly fallback: string };

/** How the person called opts out of further calls. */
export interface OptOut {
  readonly key: string | null;
  readonly phrases: readonly string[];
  /** Spoken before the call ends; empty: the language's default goodbye. */
  readonly confirmation: string;
}

/** Where the conversation starts after a failover. */
export interface FailoverStart {
  readonly history: readonly ChatMessage[];
  /**
   * What the agent must answer after saying that it is back: the caller's words, or an event that describes
   * the interruption.
   */
  readonly owed: string | null;
  readonly lastTurn: number;
  readonly lastMessage: number;
  /** The caller keeps talking with the person they were transferred to; absent from older logs. */
  readonly isJoined?: boolean;
  /** The automated line that the far end was; absent if it was none. */
  readonly line?: SessionLine['line'];
}

/** Settings for automated lines; times in ms. */
export interface LineRules {
  /** Said to the screening of a phone; empty: the model says it. */
  readonly introduction: string;
  readonly holdMaxMs: number;
  /** How often a menu is answered before the agent gives up. */
  readonly menuRepeats: number;
  /** Whether the agent may press keys. */
  readonly pressesKeys: boolean;
}

/** Settings of the turn machine; all times in ms. */
export interface TurnConfig extends TurnSettings {
  readonly greeting: Greeting;
  /** Spoken first and to its end; empty, or absent from older logs, without a disclosure. */
  readonly disclosure?: string;
  /** Null, or absent from older logs, without an opt-out. */
  readonly optOut?: OptOut | null;
  readonly language: string;
  /** Arguments of the agent's tools that its questions may ask for; absent without any. */
  readonly slots?: readonly Slot[];
  readonly phrases: Phrases;
  readonly hangUpFarewell: { readonly mode: 'generated' | 'fixed' | 'off'; readonly message: string };
  readonly hangUpRefuseQuestions: boolean;
  /** Null when digits are not taken: switched off, or not a phone call. */
  readonly keypad: { readonly terminator: string; readonly interDigitMs: number } | null;
  /** Null without a keypad menu: switched off, no options, or not an inbound phone call. */
  readonly menu: KeypadMenu | null;
  /** Dialled after the answer; absent without one. Its keys may be hidden. */
  readonly extension?: string;
  /** Null without transfer destinations. */
  readonly transfer: TransferRules | null;
  /** What an answering machine gets on an outbound call; null without machine detection. */
  readonly voicemail: AgentConfig['conversation']['outbound']['voicemail'] | null;
  /** How automated lines are met; absent unless the agent has the section and calls out. */
  readonly lines?: LineRules;
  /**
   * `none`: speech is detected but not transcribed. `finalWithinMs`: longest wait for the last words after
   * the end of speech.
   */
  readonly recognition: { readonly has: 'interims' | 'finals' | 'none'; readonly finalWithinMs: number };
  /** After a failover; otherwise null, or absent from older logs. Flight logs know it by this name. */
  readonly resumed?: FailoverStart | null;
  /**
   * Longest wait for a generation's next output, and of an open mailbox for its whole message (ten seconds
   * for a custom model).
   */
  readonly generationCapMs: number;
}

/** Silence after which the turn is judged, the recogniser finalised, and speculation started. */
export const JUDGE_AFTER_MS = 200;
/** Longest wait for a late final after the end of speech. */
const LATE_FINAL_CAP_MS = 1_000;
const GENERATION_CAP_MS = 10_000;

/** Reads the machine's configuration from a plan. `render` fills placeholders. */
export function turnConfig(
  plan: CallPlan,
  recognizer: Recognizer | null,
  render: (text: string) => string,
): TurnConfig {
  const { conversation, voice } = plan.config;
  return {
    ...renderedTexts(plan, render),
    disclosure: render(plan.outreach?.disclosure ?? '').trim(),
    optOut: plan.outreach?.opt_out ?? null,
    language: voice.speaking_language,
    ...slotsIn(plan),
    ...extensionIn(plan),
    phrases: phrasesFor(voice.speaking_language),
    ...turnSettings(conversation),
    // The limit of this call: a preview has a lower one than its agent.
    maxDurationMs: plan.max_duration_seconds * 1_000,
    hangUpRefuseQuestions: plan.config.tools.system_tools.hang_up_call_refuse_questions,
    keypad: plan.channel === 'web_voice' ? null : keypadOf(conversation.keypad_input),
    menu: menuOf(plan, render),
    voicemail:
      plan.channel === 'phone_outbound' && conversation.outbound.amd_enabled
        ? {
            ...conversation.outbound.voicemail,
            message: render(conversation.outbound.voicemail.message).trim(),
          }
        : null,
    ...linesOf(plan, render),
    recognition: {
      // Only finals carry their language, so an agent with strict language cannot use interims.
      has:
        recognizer === null
          ? 'none'
          : recognizer.givesInterims && !plan.config.asr.strict_language
            ? 'interims'
            : 'finals',
      finalWithinMs:
        recognizer === null ? 0 : Math.min(LATE_FINAL_CAP_MS, JUDGE_AFTER_MS + recognizer.expectedFinalMs),
    },
    generationCapMs: GENERATION_CAP_MS,
  };
}

function linesOf(plan: CallPlan, render: (text: string) => string): Pick<TurnConfig, 'lines'> {
  const { automated_lines: section } = plan;
  if (!section) return {};
  return {
    lines: {
      introduction: render(section.introduction).trim(),
      holdMaxMs: section.hold_max_seconds * 1_000,
      menuRepeats: section.menu_max_repeats,
      pressesKeys: mayPressKeys(plan),
    },
  };
}

/** The keypad of a phone call; null when it is switched off. */
export function keypadOf({
  enabled,
  terminator,
  inter_digit_timeout_seconds: seconds,
}: AgentConfig['conversation']['keypad_input']): TurnConfig['keypad'] {
  return enabled ? { terminator, interDigitMs: seconds * 1_000 } : null;
}

function extensionIn(plan: CallPlan): Pick<TurnConfig, 'extension'> {
  const extension = shownExtension(plan);
  return extension === undefined ? {} : { extension };
}

function slotsIn({ config, tools, tool_servers }: CallPlan): Pick<TurnConfig, 'slots'> {
  const own = tools.flatMap((tool) => tool.arguments);
  const served = tool_servers.flatMap((server) =>
    server.tools.flatMap((tool) => argumentsOfSchema(JSON.parse(tool.input_schema))),
  );
  const slots = slotsOf([...own, ...served], config.voice.speaking_language);
  return slots.length > 0 ? { slots } : {};
}

/** Texts that contain variables. */
export type VariableTexts = Pick<TurnConfig, 'greeting' | 'hangUpFarewell' | 'transfer'>;

/** Renders texts with variables: when the call is assembled, and again after a keypad menu set one. */
export function renderedTexts(plan: CallPlan, render: (text: string) => string): VariableTexts {
  const { hang_up_call_farewell_mode, hang_up_call_farewell_message } = plan.config.tools.system_tools;
  return {
    greeting: greetingOf(plan, render),
    hangUpFarewell: { mode: hang_up_call_farewell_mode, message: render(hang_up_call_farewell_message) },
    transfer: transferRules(plan, render),
  };
}

function greetingOf(plan: CallPlan, render: (text: string) => string): Greeting {
  const { prompt } = plan.config;
  const override = plan.first_message_override;
  if (override !== null) return { mode: 'say', text: render(override) };
  if (prompt.first_message_mode === 'off') return { mode: 'off' };
  const fixed = render(prompt.first_message).trim();
  if (prompt.first_message_mode === 'prompt')
    return { mode: 'generate', instruction: render(prompt.first_message_prompt), fallback: fixed };
  return fixed === '' ? { mode: 'off' } : { mode: 'say', text: fixed };
}

function menuOf(plan: CallPlan, render: (text: string) => string): KeypadMenu | null {
  const menu = plan.config.conversation.keypad_menu;
  if (!menu.enabled || menu.options.length === 0 || plan.channel !== 'phone_inbound') return null;
  return {
    prompt: render(menu.prompt).trim(),
    retryMessage: render(menu.retry_message).trim(),
    options: menu.options,
    acceptsSpeech: menu.accept_speech,
    variable: menu.variable,
    noInputMs: menu.no_input_timeout_seconds * 1_000,
    maxAttempts: menu.max_attempts,
    fallbackValue: menu.fallback_value,
  };
}

/** Length of voice that interrupts by itself when no words can arrive in time. */
export const WORDLESS_INTERRUPTION_MS = 700;

/** Voiced audio that pauses the agent, in ms by sensitivity. */
export const INTERRUPTION_VOICE_MS = { high: 128, balanced: 256, low: 512 } as const satisfies Record<
  TurnConfig['sensitivity'],
  number
>;

/** The same while the line's echo is still unknown: `balanced` counts as `low`. */
export function unsureReachMs(reachMs: number): number {
  return reachMs === INTERRUPTION_VOICE_MS.balanced ? INTERRUPTION_VOICE_MS.low : reachMs;
}
