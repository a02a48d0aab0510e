/** A row of the table of faults. */
export interface FaultEntry {
  readonly status: number;
  /** `{name}` is replaced by the parameter of that name. */
  readonly message: string;
  readonly reason?: string;
  /** SIP status for refusing an INVITE. */
  readonly sip?: number;
  /** When a retry may succeed, s; a fault's own parameter `seconds` takes precedence. */
  readonly retrySeconds?: number;
}
