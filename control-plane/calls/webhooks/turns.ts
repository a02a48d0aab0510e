/**
 * Whose webhooks may be sent next: an endpoint that hangs holds up its own, an account with many such its
 * own, and nobody else's. Pure bookkeeping.
 */

/** Attempts under way at once, each of which may take ten seconds. */
const MOST = { inAll: 256, ofTeam: 16, ofEndpoint: 4 } as const;

/** Whose a delivery is, and where it goes. */
interface Addressed {
  readonly team_id: string;
  readonly url: string;
}

/** The attempts of one process. */
export class Turns {
  readonly #byTeam = new Map<string, Map<string, number>>();
  #inAll = 0;

  /** Attempts that may begin now. */
  get places(): number {
    return MOST.inAll - this.#inAll;
  }

  /** Attempts of this team that may begin now. */
  placesOf(teamId: string): number {
    return Math.min(this.places, MOST.ofTeam - this.#countOf(teamId));
  }

  /**
   * Those of these deliveries, of one team and no more than it has places, which their endpoints have places
   * for.
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

  /** Endpoints of a team that have as many attempts under way as one may have. */
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

  /** Returns whether somebody may have waited for the place that is free now. */
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
