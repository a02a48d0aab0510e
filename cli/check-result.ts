/** Result of one of the doctor's checks. */
export interface CheckResult {
  /** The thing checked, such as `SIP port`. */
  readonly subject: string;
  /** A `note` is neither a success nor a failure. */
  readonly verdict: 'ok' | 'note' | 'failed';
  readonly result: string;
  /** What the operator can do about it. */
  readonly fix?: string;
}
