/**
 * The slice of UDP ports a media thread may use for RTP: even ports, each with the odd one above it for RTCP
 * (RFC 3550 §11), handed out in turn so that a port rests before it is used again.
 */

/** Hands out and takes back ports; binding may still fail where another program holds one. */
export class PortPool {
  readonly #free: number[] = [];

  /** Both bounds belong to the slice. */
  constructor(minPort: number, maxPort: number) {
    for (let port = minPort + (minPort % 2); port < maxPort; port += 2) this.#free.push(port);
  }

  /** Number of ports that are free now. */
  get freePorts(): number {
    return this.#free.length;
  }

  /** The port that has rested longest; null when all are in use. */
  acquire(): number | null {
    return this.#free.shift() ?? null;
  }

  /** Gives a port back. */
  release(port: number): void {
    this.#free.push(port);
  }
}
