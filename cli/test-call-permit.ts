/** What the running product tells the doctor about itself: where it accepts calls, and a permitted one. */
import type { Api } from './api.ts';

/** Where a product accepts calls: the address it listens on. */
export interface SipAddress {
  readonly host: string;
  readonly port: number;
}

/** A call that is free and appears in no list. */
export interface PermittedCall {
  readonly phone_number: string;
  readonly agent_id: string;
  readonly session_id: string;
  /** The INVITE must contain it. */
  readonly header: { readonly name: string; readonly value: string };
}

/** The answer of `GET /admin/test-call`. */
export interface TestCallPermit {
  /** Null with an external SIP server. */
  readonly sip: SipAddress | null;
  /** Null if the demo agent answers no number. */
  readonly call: PermittedCall | null;
}

/**
 * Asks for the SIP address and for one call to `number`, by default the demo agent's. Null if the key is not
 * the operator's. Throws `CommandError` if no agent answers the number.
 */
export async function permitTestCall(api: Api, number?: string): Promise<TestCallPermit | null> {
  const { is_operator: isOperator } = await api.get('/v1/account');
  if (!isOperator) return null;
  const query = number === undefined ? '' : `?${new URLSearchParams({ phone_number: number })}`;
  return api.get(`/admin/test-call${query}`);
}

/** An address of this machine that reaches a listener on `host`. */
export function reachableHost(host: string): string {
  return isAnyHost(host) ? '127.0.0.1' : host;
}

/** Whether a listener on `host` is reached by every address of its machine. */
export function isAnyHost(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}
