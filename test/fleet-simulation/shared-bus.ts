/** The Redis of the fleet: messages, windows and claims that are gone, back, empty or out of reach. */
import {
  type Coordination,
  createMemoryCoordination,
  type Json,
} from '#control-plane/platform/store/coordination.ts';
import type { Network } from './network.ts';
import type { VirtualProcess } from './virtual-process.ts';

/** The machine it runs on. */
export const REDIS_HOST = 'redis';
/** A command that is not answered fails after this long, and a lost connection is made anew. */
const COMMAND_MS = 2_000;

/** The server. */
export class SharedBus {
  readonly #network: Network;
  readonly #clients = new Set<BusClient>();
  #isUp = true;
  #central: Coordination;

  constructor(network: Network) {
    this.#network = network;
    this.#central = createMemoryCoordination(network.clock);
  }

  get central(): Coordination {
    return this.#central;
  }

  connect(process: VirtualProcess): Coordination {
    const client = new BusClient(this, this.#network, process);
    this.#clients.add(client);
    return client;
  }

  reaches({ host }: VirtualProcess): boolean {
    return this.#isUp && !this.#network.isCut(host, REDIS_HOST) && !this.#network.isCut(REDIS_HOST, host);
  }

  stop(): void {
    this.#isUp = false;
  }

  /** It comes back, and has forgotten everything. */
  start(): void {
    this.#isUp = true;
    void this.#central.close();
    this.#central = createMemoryCoordination(this.#network.clock);
  }

  close(): void {
    void this.#central.close();
  }

  carry(from: VirtualProcess, channel: string, text: string): void {
    for (const client of this.#clients) client.arrive(from, channel, text);
  }

  forget(client: BusClient): void {
    this.#clients.delete(client);
  }
}

class BusClient implements Coordination {
  readonly #bus: SharedBus;
  readonly #network: Network;
  readonly #process: VirtualProcess;
  readonly #alone: Coordination;
  readonly #listeners = new Map<string, Set<(message: Json) => void>>();
  readonly #gapListeners = new Set<() => void>();
  #isSubscribed = true;

  constructor(bus: SharedBus, network: Network, process: VirtualProcess) {
    this.#bus = bus;
    this.#network = network;
    this.#process = process;
    this.#alone = createMemoryCoordination(process);
    process.every(COMMAND_MS, () => this.#test());
  }

  countInWindow(key: string, limit: number, windowMs: number) {
    return (this.#reaches ? this.#bus.central : this.#alone).countInWindow(key, limit, windowMs);
  }

  claim(key: string, ttlMs: number) {
    return (this.#reaches ? this.#bus.central : this.#alone).claim(key, ttlMs);
  }

  prolong(key: string, ttlMs: number) {
    return (this.#reaches ? this.#bus.central : this.#alone).prolong(key, ttlMs);
  }

  async publish(channel: string, message: Json): Promise<void> {
    const text = JSON.stringify(message);
    if (this.#reaches) this.#bus.carry(this.#process, channel, text);
    else {
      await this.#process.sleep(COMMAND_MS);
      this.#deliver(channel, text);
    }
  }

  async subscribe(channel: string, listener: (message: Json) => void): Promise<() => Promise<void>> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    if (!this.#reaches) this.#isSubscribed = false;
    return async () => {
      listeners.delete(listener);
    };
  }

  onGap(listener: () => void): () => void {
    this.#gapListeners.add(listener);
    return () => void this.#gapListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#bus.forget(this);
    this.#listeners.clear();
    await this.#alone.close();
  }

  arrive(from: VirtualProcess, channel: string, text: string): void {
    if (!this.#process.isAlive) this.#bus.forget(this);
    if (!this.#listeners.has(channel) || !this.#isSubscribed || !this.#reaches) return;
    const delayMs =
      this.#network.delayMs(from.host, REDIS_HOST) + this.#network.delayMs(REDIS_HOST, this.#process.host);
    this.#network.clock.after(delayMs, () => this.#process.enter(() => this.#deliver(channel, text)));
  }

  #deliver(channel: string, text: string): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(JSON.parse(text) as Json);
  }

  get #reaches(): boolean {
    return this.#bus.reaches(this.#process);
  }

  /** Subscribes again after the connection was lost. */
  #test(): void {
    if (!this.#reaches) this.#isSubscribed = false;
    else if (!this.#isSubscribed) {
      this.#isSubscribed = true;
      for (const listener of this.#gapListeners) listener();
    }
  }
}
