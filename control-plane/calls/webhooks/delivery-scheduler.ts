/**
 * Schedules webhook deliveries fairly between teams and endpoints: a hanging endpoint delays only its own
 * deliveries, and a team with many such endpoints only its own. Only counts; starts no delivery itself.
 */

/** Maximum concurrent attempts; each may take ten seconds. */
const MAX_ATTEMPTS = { total: 256, perTeam: 16, perEndpoint: 4 } as const;

/** Team and endpoint of a delivery. */
interface Destination {
  readonly team_id: string;
  readonly url: string;
}

/** Attempts in progress in one process. */
export class DeliveryScheduler {
  readonly #byTeam = new Map<string, Map<string, number>>();
  #total = 0;

  /** Number of attempts that may start now. */
  get free(): number {
    return MAX_ATTEMPTS.total - this.#total;
  }

  /** Number of attempts this team may start now. */
  freeFor(teamId: string): number {
    return Math.min(this.free, MAX_ATTEMPTS.perTeam - this.#countOf(teamId));
  }

  /** Takes a slot for each delivery whose team and endpoint have one free; returns these deliveries. */
  beginStartable<Delivery extends Destination>(deliveries: readonly Delivery[]): Delivery[] {
    const begun: Delivery[] = [];
    for (const delivery of deliveries) {
      const { team_id: teamId, url } = delivery;
      if (this.freeFor(teamId) <= 0 || this.busyEndpoints(teamId).includes(url)) continue;
      this.begin(delivery);
      begun.push(delivery);
    }
    return begun;
  }

  /** Endpoints of a team at their limit of concurrent attempts. */
  busyEndpoints(teamId: string): string[] {
    return [...(this.#byTeam.get(teamId) ?? [])]
      .filter(([, count]) => count >= MAX_ATTEMPTS.perEndpoint)
      .map(([url]) => url);
  }

  /**
   * Whether a new delivery may start without its turn in the store: if less than half of each limit is in
   * use, it takes no slot that a due delivery needs.
   */
  isIdle({ team_id: teamId, url }: Destination): boolean {
    const ofEndpoint = this.#byTeam.get(teamId)?.get(url) ?? 0;
    return (
      this.#total < MAX_ATTEMPTS.total / 2 &&
      this.#countOf(teamId) < MAX_ATTEMPTS.perTeam / 2 &&
      ofEndpoint < MAX_ATTEMPTS.perEndpoint / 2
    );
  }

  begin({ team_id: teamId, url }: Destination): void {
    const endpoints = this.#byTeam.get(teamId) ?? new Map<string, number>();
    this.#byTeam.set(teamId, endpoints.set(url, (endpoints.get(url) ?? 0) + 1));
    this.#total += 1;
  }

  /** Returns whether another delivery may have been waiting for the freed slot. */
  end({ team_id: teamId, url }: Destination): boolean {
    const endpoints = this.#byTeam.get(teamId);
    const count = endpoints?.get(url) ?? 1;
    const wasAwaited =
      this.#total >= MAX_ATTEMPTS.total ||
      this.#countOf(teamId) >= MAX_ATTEMPTS.perTeam ||
      count >= MAX_ATTEMPTS.perEndpoint;
    if (count > 1) endpoints?.set(url, count - 1);
    else endpoints?.delete(url);
    if (endpoints?.size === 0) this.#byTeam.delete(teamId);
    this.#total -= 1;
    return wasAwaited;
  }

  #countOf(teamId: string): number {
    return [...(this.#byTeam.get(teamId)?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  }
}
