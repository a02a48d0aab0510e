/** Whose webhooks may be sent next: an endpoint that hangs holds up its own, an account with many such its own, and nobody else's. Pure bookkeeping. */

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

  /** True while another attempt may begin at all. */
  get hasRoom(): boolean {
    return this.#inAll < MOST.inAll;
  }

  /** True while another attempt of this team may begin. */
  isTurnOf(teamId: string): boolean {
    const endpoints = this.#byTeam.get(teamId);
    return this.hasRoom && (!endpoints || [...endpoints.values()].reduce((sum, count) => sum + count, 0) < MOST.ofTeam);
  }

  /** Endpoints of a team that have as many attempts under way as one may have. */
  busyEndpoints(teamId: string): string[] {
    return [...(this.#byTeam.get(teamId) ?? [])].filter(([, count]) => count >= MOST.ofEndpoint).map(([url]) => url);
  }

  begin({ team_id: teamId, url }: Addressed): void {
    const endpoints = this.#byTeam.get(teamId) ?? new Map<string, number>();
    this.#byTeam.set(teamId, endpoints.set(url, (endpoints.get(url) ?? 0) + 1));
    this.#inAll += 1;
  }

  end({ team_id: teamId, url }: Addressed): void {
    const endpoints = this.#byTeam.get(teamId);
    const left = (endpoints?.get(url) ?? 1) - 1;
    if (left > 0) endpoints?.set(url, left);
    else endpoints?.delete(url);
    if (endpoints?.size === 0) this.#byTeam.delete(teamId);
    this.#inAll -= 1;
  }
}
