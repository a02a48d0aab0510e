/**
 * Every setting of `conversation`, one row each: its name inside the turn machine, its unit on the wire,
 * whether a replay can change it, and where the console shows it. Schema, default and bounds are in
 * config/agent-config.ts.
 */
import type { AgentConfig } from '#config/agent-config.ts';

type Conversation = AgentConfig['conversation'];

interface Row {
  /** Its field in the turn machine's configuration; null: read in another form, or not at all. */
  readonly field: string | null;
  /** Unit of a time on the wire; the machine counts in ms. */
  readonly unit?: 'ms' | 's';
  readonly isReplayable: boolean;
  /**
   * Section of the agent form in the console; null if the form does not show it. The replay form goes by
   * `isReplayable` instead, but omits lists of phrases.
   */
  readonly section: 'turns' | 'silence' | null;
}

const ELSEWHERE = { field: null, isReplayable: false, section: null } as const;

/** The settings by wire name. */
export const CONVERSATION_SETTINGS = {
  response_wait_ms: { field: 'responseWaitMs', unit: 'ms', isReplayable: true, section: 'turns' },
  /** Null: 2.5 to 4.5 × `responseWaitMs`, adjusted to this caller's pauses. */
  response_max_wait_ms: { field: 'responseMaxWaitMs', unit: 'ms', isReplayable: true, section: null },
  eagerness: { field: 'eagerness', isReplayable: true, section: 'turns' },
  interruptible: { field: 'interruptible', isReplayable: true, section: 'turns' },
  interruption_sensitivity: { field: 'sensitivity', isReplayable: true, section: 'turns' },
  interruption_ignore_phrases: { field: 'ignorePhrases', isReplayable: true, section: 'turns' },
  speculative_response: { field: 'speculative', isReplayable: true, section: 'turns' },
  reengage_enabled: { field: 'reengage', isReplayable: true, section: 'silence' },
  hangup_after_seconds: { field: 'hangupAfterMs', unit: 's', isReplayable: true, section: 'silence' },
  hangup_farewell_enabled: { field: 'idleFarewell', isReplayable: true, section: 'silence' },
  max_duration_seconds: { field: 'maxDurationMs', unit: 's', isReplayable: false, section: 'silence' },
  record_audio: ELSEWHERE,
  timezone: ELSEWHERE,
  transfer_destinations: ELSEWHERE,
  transfer_refuse_questions: ELSEWHERE,
  outbound: ELSEWHERE,
  keypad_menu: ELSEWHERE,
  keypad_input: ELSEWHERE,
} as const satisfies { readonly [Name in keyof Conversation]: Row };

type Settings = typeof CONVERSATION_SETTINGS;
type NamesWhere<Columns extends Partial<Row>> = {
  [Name in keyof Settings]: Settings[Name] extends Columns ? Name : never;
}[keyof Settings];

/** A setting that has a field of its own in the turn machine's configuration. */
type MachineSetting = NamesWhere<{ field: string }>;
/** A setting that a replay can change. */
export type ReplayableSetting = NamesWhere<{ isReplayable: true }>;
/** A setting that the agent form of the console shows, or that a replay can change. */
export type ShownSetting = ReplayableSetting | NamesWhere<{ section: 'turns' | 'silence' }>;

const NAMES = Object.keys(CONVERSATION_SETTINGS) as (keyof Settings)[];

export const REPLAYABLE_SETTINGS = NAMES.filter(
  (name): name is ReplayableSetting => CONVERSATION_SETTINGS[name].isReplayable,
);

/** The settings in the machine's names and units. */
export type TurnSettings = {
  readonly [Name in MachineSetting as Settings[Name]['field']]: Conversation[Name];
};

/** Converts settings to the machine's names and units; absent ones stay absent. */
export function turnSettings(conversation: Conversation): TurnSettings;
export function turnSettings(
  changes: {
    readonly [Name in ReplayableSetting]?: Conversation[Name] | undefined;
  },
): Partial<TurnSettings>;
export function turnSettings(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const { field, unit }: Row = CONVERSATION_SETTINGS[name];
      const value = values[name];
      if (field === null || value === undefined) return [];
      return [[field, unit === 's' ? Number(value) * 1_000 : value]];
    }),
  );
}

/** The inverse of `turnSettings`: the replayable settings, in their names and units on the wire. */
export function replayableSettings(values: TurnSettings): Pick<Conversation, ReplayableSetting> {
  return Object.fromEntries(
    REPLAYABLE_SETTINGS.map((name) => {
      const { field, unit }: Row & { readonly field: keyof TurnSettings } = CONVERSATION_SETTINGS[name];
      return [name, unit === 's' ? Number(values[field]) / 1_000 : values[field]];
    }),
  ) as Pick<Conversation, ReplayableSetting>;
}
