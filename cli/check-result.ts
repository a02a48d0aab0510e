/** Results of the doctor's checks. */

/** Result of one check. A `note` neither fails nor passes. */
export interface Finding {
  readonly what: string;
  readonly verdict: 'ok' | 'note' | 'failed';
  readonly found: string;
  /** What to do; empty if nothing. */
  readonly advice?: string;
}
