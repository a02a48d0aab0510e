/**
 * Fair scheduling of webhooks: a hanging endpoint delays only its own deliveries, and a team with many such
 * endpoints only its own. Pure bookkeeping.
 */

/** Maximum concurrent attempts; each may take ten seconds. */
const MOST = { inAll: 256, ofTeam: 16, ofEndpoint: 4 } as const;

/** Team and endpoint of a delivery. */
interface Addressed {
  readonly team_id: string;
  readonly url: string;
}

/** Attempts in progress in one process. */
export class Turns {
  readonly #byTeam = new Map<string, Map<string, number>>();
  #inAll = 0;

  /** Number of attempts that may start now. */
  get places(): number {
    return MOST.inAll - this.#inAll;
  }

  /** Number of attempts this team may start now. */
  placesOf(teamId: string): number {
    return Math.min(this.places, MOST.ofTeam - this.#countOf(teamId));
  }

  /**
   * Selects the deliveries whose endpoints have free slots. All must be of one team and not exceed its free
   * slots.
   */
  fitting<Delivery extends Addressed>(deliveries: readonly Delivery[]): Delivery[] {
    const begun: Delivery[] = [];
    for (const delivery of deliveries) {
      if (this.busyEndpoints(delivery.team_id).includes(delivery.url)) continue;
      this.begin(delivery);
      begun.push(delivery);
    }
    for (const delivery of begun) this.end(delivery);
    return begun;
  }

  /** Endpoints of a team at their limit of concurrent attempts. */
  busyEndpoints(teamId: string): string[] {
    return [...(this.#byTeam.get(teamId) ?? [])]
      .filter(([, count]) => count >= MOST.ofEndpoint)
      .map(([url]) => url);
  }

  begin({ team_id: teamId, url }: Addressed): void {
    const endpoints = this.#byTeam.get(teamId) ?? new Map<string, number>();
    this.#byTeam.set(teamId, endpoints.set(url, (endpoints.get(url) ?? 0) + 1));
    this.#inAll += 1;
  }

  /** Returns whether another delivery may have been waiting for the freed slot. */
  end({ team_id: teamId, url }: Addressed): boolean {
    const endpoints = this.#byTeam.get(teamId);
    const count = endpoints?.get(url) ?? 1;
    const wasAwaited =
      this.#inAll >= MOST.inAll || this.#countOf(teamId) >= MOST.ofTeam || count >= MOST.ofEndpoint;
    if (count > 1) endpoints?.set(url, count - 1);
    else endpoints?.delete(url);
    if (endpoints?.size === 0) this.#byTeam.delete(teamId);
    this.#inAll -= 1;
    return wasAwaited;
  }

  #countOf(teamId: string): number {
    return [...(this.#byTeam.get(teamId)?.values() ?? [])].reduce((sum, count) => sum + count, 0);
  }
}
