/**
 * The result of one tool call on its transport, before the tool runner words it for the timeline and the
 * model.
 */

/** A tool's result on its transport, before it is worded. */
export interface RawOutcome {
  readonly ok: boolean;
  readonly output: string | null;
  readonly outputTruncated: boolean;
  readonly error: string | null;
}
