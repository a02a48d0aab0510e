/**
 * What the turn machine is told about one call: the conversation settings of its plan and the abilities of
 * its engines. It stands whole in the header of the flight log, so a replay needs nothing else, and may
 * change any of it.
 */
import type { AgentConfig } from '#config/agent-config.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ChatMessage } from '../../llm/llm.ts';
import type { KeypadMenu } from '../text/keypad.ts';
import { type Phrases, phrasesFor } from '../text/phrases.ts';
import { type TransferRules, transferRules } from './ending/transfer-rules.ts';

/**
 * How the conversation begins (`prompt.first_message_mode`, or the first message a request overrides it
 * with).
 */
export type Greeting =
  | { readonly mode: 'off' }
  | { readonly mode: 'say'; readonly text: string }
  | { readonly mode: 'generate'; readonly instruction: string; readonly fallback: string };

/** How whoever is called takes themselves off the list. */
export interface OptOut {
  readonly key: string | null;
  readonly phrases: readonly string[];
  /** Said before the call ends; empty: the language's own goodbye. */
  readonly confirmation: string;
}

/** Where a call stood that goes on. */
export interface Resumed {
  readonly history: readonly ChatMessage[];
  /**
   * What the agent still has to answer after saying that it is back: the caller's words, or the event that it
   * was cut off.
   */
  readonly owed: string | null;
  readonly lastTurn: number;
  readonly lastMessage: number;
  /**
   * The caller talks with the person they were transferred to, and goes on doing so; absent from older logs.
   */
  readonly isJoined?: boolean;
}

/** Settings of the turn machine; all times in ms. */
export interface TurnConfig {
  readonly greeting: Greeting;
  /**
   * Said before anything else and to its end; empty, or absent from older logs, where nothing is to be
   * disclosed.
   */
  readonly disclosure?: string;
  /** Null, or absent from older logs, where nobody can. */
  readonly optOut?: OptOut | null;
  readonly language: string;
  readonly phrases: Phrases;
  readonly responseWaitMs: number;
  /** Null: 2.5 × `responseWaitMs`, moved by the pauses this caller makes. */
  readonly responseMaxWaitMs: number | null;
  readonly eagerness: AgentConfig['conversation']['eagerness'];
  readonly interruptible: boolean;
  readonly sensitivity: AgentConfig['conversation']['interruption_sensitivity'];
  readonly ignorePhrases: readonly string[];
  readonly speculative: boolean;
  readonly reengage: boolean;
  readonly hangupAfterMs: number;
  readonly idleFarewell: boolean;
  readonly maxDurationMs: number;
  readonly hangUpFarewell: { readonly mode: 'generated' | 'fixed' | 'off'; readonly message: string };
  readonly hangUpRefuseQuestions: boolean;
  /** Null where digits are not taken: switched off, or not a phone call. */
  readonly keypad: { readonly terminator: string; readonly interDigitMs: number } | null;
  /** Null where the call has no keypad menu: switched off, without options, or not an inbound phone call. */
  readonly menu: KeypadMenu | null;
  /** Null where nobody can be transferred to. */
  readonly transfer: TransferRules | null;
  /** What a machine gets that answers an outbound call; null where nobody asks who answered. */
  readonly voicemail: AgentConfig['conversation']['outbound']['voicemail'] | null;
  /**
   * `none`: speech is heard and not understood. `finalWithinMs`: how long after the end of speech its last
   * words are waited for.
   */
  readonly recognition: { readonly has: 'interims' | 'finals' | 'none'; readonly finalWithinMs: number };
  /**
   * What was said before this worker took the call over from one that died; null, or absent from older logs,
   * in a call of its own.
   */
  readonly resumed?: Resumed | null;
  /** Longest wait for a generation's next sign of life (ten seconds for a custom model). */
  readonly generationCapMs: number;
}

/**
 * After this much silence the judgement is made, the recogniser asked to finalise, and speculation begins.
 */
export const JUDGE_AFTER_MS = 200;
/** The longest a late final is awaited after the end of speech. */
const LATE_FINAL_CAP_MS = 1_000;
const GENERATION_CAP_MS = 10_000;

/** Reads the machine's settings out of a plan. `render` fills the placeholders of a text. */
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
    phrases: phrasesFor(voice.speaking_language),
    responseWaitMs: conversation.response_wait_ms,
    responseMaxWaitMs: conversation.response_max_wait_ms,
    eagerness: conversation.eagerness,
    interruptible: conversation.interruptible,
    sensitivity: conversation.interruption_sensitivity,
    ignorePhrases: conversation.interruption_ignore_phrases,
    speculative: conversation.speculative_response,
    reengage: conversation.reengage_enabled,
    hangupAfterMs: conversation.hangup_after_seconds * 1_000,
    idleFarewell: conversation.hangup_farewell_enabled,
    maxDurationMs: plan.max_duration_seconds * 1_000,
    hangUpRefuseQuestions: plan.config.tools.system_tools.hang_up_call_refuse_questions,
    keypad:
      conversation.keypad_input.enabled && plan.channel !== 'web_voice'
        ? {
            terminator: conversation.keypad_input.terminator,
            interDigitMs: conversation.keypad_input.inter_digit_timeout_seconds * 1_000,
          }
        : null,
    menu: menuOf(plan, render),
    voicemail:
      plan.channel === 'phone_outbound' && conversation.outbound.amd_enabled
        ? {
            ...conversation.outbound.voicemail,
            message: render(conversation.outbound.voicemail.message).trim(),
          }
        : null,
    recognition: {
      // Only a final says in which language it was: an agent that is strict about its own has no use for
      // interims.
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

/** The texts that name variables. */
export type VariableTexts = Pick<TurnConfig, 'greeting' | 'hangUpFarewell' | 'transfer'>;

/**
 * The texts that name variables: rendered when the call is assembled, and again when a keypad menu has set
 * one.
 */
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

/** Voiced audio that pauses the agent, by sensitivity. */
export const INTERRUPTION_VOICE_MS = { high: 128, balanced: 256, low: 512 } as const satisfies Record<
  TurnConfig['sensitivity'],
  number
>;

/** The same while the echo of the caller's line is not known: balanced counts as low. */
export function unsureReachMs(reachMs: number): number {
  return reachMs === INTERRUPTION_VOICE_MS.balanced ? INTERRUPTION_VOICE_MS.low : reachMs;
}
