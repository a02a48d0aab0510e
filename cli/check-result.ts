/** What the doctor's checks answer. */

/** What one check found. `note` neither fails nor passes: worth knowing. */
export interface Finding {
  readonly what: string;
  readonly verdict: 'ok' | 'note' | 'failed';
  readonly found: string;
  /** What to do; empty when there is nothing to do. */
  readonly advice?: string;
}
