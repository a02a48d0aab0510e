/**
 * The UDP ports of a media thread for RTP: even ports, each with the odd one above for RTCP (RFC 3550 §11),
 * used in rotation so that a port rests before it is reused.
 */

/** Allocates and frees ports; binding may still fail if another program uses one. */
export class PortPool {
  readonly #free: number[] = [];

  /** Both bounds are included. */
  constructor(minPort: number, maxPort: number) {
    for (let port = minPort + (minPort % 2); port < maxPort; port += 2) this.#free.push(port);
  }

  /** Number of free ports. */
  get freePorts(): number {
    return this.#free.length;
  }

  /** The port free for longest; null if all are in use. */
  acquire(): number | null {
    return this.#free.shift() ?? null;
  }

  /** Frees a port. */
  release(port: number): void {
    this.#free.push(port);
  }
}
