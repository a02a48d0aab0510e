/** The server that receives the webhooks of the fleet: it takes them, refuses them, or does not answer. */
import type { EgressGuard, GuardedRequest, GuardedResponse } from '#base/egress.ts';
import type { Network } from './network.ts';
import type { VirtualProcess } from './virtual-process.ts';

/** The machine it runs on. */
const ENDPOINT_HOST = 'endpoint';

/** `mute`: it takes a webhook, and its answer never comes. */
type Mood = 'well' | 'refusing' | 'mute';

/** The endpoint. */
export class WebhookEndpoint {
  readonly #network: Network;
  readonly #taken = new Set<string>();
  readonly #failures = new Map<string, number>();
  mood: Mood = 'well';

  constructor(network: Network) {
    this.#network = network;
  }

  /** Whether it has taken this event of the session. */
  hasTaken(sessionId: string, event: string): boolean {
    return this.#taken.has(`${sessionId}:${event}`);
  }

  /** How many attempts to send this event it has refused or left without an answer. */
  failures(sessionId: string, event: string): number {
    return this.#failures.get(`${sessionId}:${event}`) ?? 0;
  }

  /** Outgoing HTTP of a process, all of which goes here. */
  egressOf(process: VirtualProcess): Pick<EgressGuard, 'request'> {
    return { request: (_url, request) => this.#request(process, request) };
  }

  #request(process: VirtualProcess, { body, timeoutMs, signal }: GuardedRequest): Promise<GuardedResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<GuardedResponse>();
    const timeout = process.after(timeoutMs, () => reject(new Error('timed out')));
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    const { clock } = this.#network;
    clock.after(this.#network.delayMs(process.host, ENDPOINT_HOST), () => {
      const status = this.#take(String(body));
      if (status === null) return;
      clock.after(this.#network.delayMs(ENDPOINT_HOST, process.host), () =>
        process.enter(() => resolve({ status, headers: {}, body: Buffer.alloc(0), isTruncated: false })),
      );
    });
    return promise.finally(() => timeout.cancel());
  }

  #take(body: string): number | null {
    const { event, session } = JSON.parse(body) as { event: string; session: { id: string } };
    const key = `${session.id}:${event}`;
    if (this.mood !== 'refusing') this.#taken.add(key);
    if (this.mood !== 'well') this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1);
    return this.mood === 'mute' ? null : this.mood === 'well' ? 200 : 500;
  }
}
