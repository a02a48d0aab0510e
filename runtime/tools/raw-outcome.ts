/**
 * What one tool call came to on its own transport, before the tool runner words it for the timeline and the
 * model.
 */

/** What a tool's own transport came to, before it is worded. */
export interface RawOutcome {
  readonly ok: boolean;
  readonly output: string | null;
  readonly outputTruncated: boolean;
  readonly error: string | null;
}
