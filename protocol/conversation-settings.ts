/**
 * The settings of `conversation` that the turn machine uses: wire name, internal name, unit. A replay can
 * change each of them. Their schema is in config/agent-config.ts.
 */
import type { AgentConfig } from '#config/agent-config.ts';

type Conversation = AgentConfig['conversation'];

/** By wire name: the field of the machine's configuration, and the factor from the wire's unit to its own. */
export const CONVERSATION_SETTINGS = {
  response_wait_ms: { field: 'responseWaitMs' },
  /** Null: 2.5 × `responseWaitMs`, adjusted to this caller's pauses. */
  response_max_wait_ms: { field: 'responseMaxWaitMs' },
  eagerness: { field: 'eagerness' },
  interruptible: { field: 'interruptible' },
  interruption_sensitivity: { field: 'sensitivity' },
  interruption_ignore_phrases: { field: 'ignorePhrases' },
  speculative_response: { field: 'speculative' },
  reengage_enabled: { field: 'reengage' },
  hangup_after_seconds: { field: 'hangupAfterMs', perUnit: 1_000 },
  hangup_farewell_enabled: { field: 'idleFarewell' },
} as const satisfies {
  readonly [Name in keyof Conversation]?: { readonly field: string; readonly perUnit?: number };
};

/** A setting's wire name. */
export type ConversationSetting = keyof typeof CONVERSATION_SETTINGS;

export const CONVERSATION_SETTING_NAMES = Object.keys(CONVERSATION_SETTINGS) as ConversationSetting[];

/** The settings in the machine's names and units. */
export type TurnSettings = {
  readonly [Name in ConversationSetting as (typeof CONVERSATION_SETTINGS)[Name]['field']]: Conversation[Name];
};

/** Converts settings to the machine's names and units; absent ones stay absent. */
export function turnSettings(conversation: Conversation): TurnSettings;
export function turnSettings(
  changes: {
    readonly [Name in ConversationSetting]?: Conversation[Name] | undefined;
  },
): Partial<TurnSettings>;
export function turnSettings(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    CONVERSATION_SETTING_NAMES.flatMap((name) => {
      const value = values[name];
      if (value === undefined) return [];
      const row: { readonly field: string; readonly perUnit?: number } = CONVERSATION_SETTINGS[name];
      return [[row.field, typeof value === 'number' ? value * (row.perUnit ?? 1) : value]];
    }),
  );
}
