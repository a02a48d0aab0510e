/**
 * The header of a flight log, which both its replay and readers of single inputs need. Each worker of a call
 * writes one, before the inputs of its turn machine.
 */
import { z } from 'zod';

/** Version of the log format. */
export const FLIGHT_LOG_VERSION = 1;

/** The header; its times are those of its worker at the same moment, in ms and as RFC 3339. */
export const flightLogHeader = z.object({
  flight_log_version: z.literal(FLIGHT_LOG_VERSION),
  machine_version: z.number().int(),
  session_id: z.string(),
  seed: z.number(),
  started_at_ms: z.number(),
  wall_time: z.iso.datetime(),
  config: z.record(z.string(), z.unknown()),
});
