/** Abilities that workers have had since a later version than the first: older ones do not name them. */
import { z } from 'zod';

const ability = z.literal(true).optional();

/** Abilities in the registration of a worker. */
export const workerAbilities = {
  /** It goes on with the stream of a phone call that another worker gives up. */
  takes_stream: ability,
  /** With agent tests it takes turns of text sessions; not in `kinds`, whose values are fixed. */
  takes_text: ability,
  /**
   * It answers `judge_pauses`, `rehearse`, `judge_turn`, `measure_regret`, `ask_of_test_call`, `send_sip`.
   */
  judges_pauses: ability,
  rehearses: ability,
  judges_turns: ability,
  measures_regret: ability,
  asks_of_test_calls: ability,
  sends_sip: ability,
  /** It takes phone calls over media streams of vendors. */
  joins_media_streams: ability,
};

/** Those of this version. */
export const OWN_ABILITIES = {
  takes_stream: true,
  takes_text: true,
  judges_pauses: true,
  rehearses: true,
  judges_turns: true,
  measures_regret: true,
  asks_of_test_calls: true,
  sends_sip: true,
  joins_media_streams: true,
} as const satisfies Record<keyof typeof workerAbilities, true>;
