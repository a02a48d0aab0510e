/** Converts replay settings to the turn machine's configuration. */
import type { ReplaySettings } from '#protocol/replay.ts';
import type { TurnConfig } from '../turn/machine/turn-config.ts';

type Settings = Required<ReplaySettings>;

const TO_TURN_CONFIG: {
  readonly [Name in keyof Settings]: (value: Exclude<Settings[Name], undefined>) => Partial<TurnConfig>;
} = {
  response_wait_ms: (responseWaitMs) => ({ responseWaitMs }),
  response_max_wait_ms: (responseMaxWaitMs) => ({ responseMaxWaitMs }),
  eagerness: (eagerness) => ({ eagerness }),
  interruptible: (interruptible) => ({ interruptible }),
  interruption_sensitivity: (sensitivity) => ({ sensitivity }),
  interruption_ignore_phrases: (ignorePhrases) => ({ ignorePhrases }),
  speculative_response: (speculative) => ({ speculative }),
  reengage_enabled: (reengage) => ({ reengage }),
  hangup_after_seconds: (seconds) => ({ hangupAfterMs: seconds * 1_000 }),
  hangup_farewell_enabled: (idleFarewell) => ({ idleFarewell }),
};

/** The changed configuration fields. */
export function turnChanges(settings: ReplaySettings): Partial<TurnConfig> {
  const names = Object.keys(settings) as (keyof Settings)[];
  return Object.assign(
    {},
    ...names.map((name) =>
      settings[name] === undefined ? {} : TO_TURN_CONFIG[name](settings[name] as never),
    ),
  );
}
