/** A replica's view of the register of replicas, whose heartbeats a test can delay, await and stop. */
import type { Context } from '#control-plane/platform/context.ts';

type Register = Context['models']['replicas'];

/** Promises that each read and each heartbeat awaits first. */
export interface RegisterDelays {
  readonly reads?: () => Promise<void>;
  readonly writes?: () => Promise<void>;
}

/** The register as one replica uses it. */
export class TrackedRegister {
  readonly register: Register;
  readonly #heartbeats = new Set<Promise<unknown>>();
  #isAlive = true;

  constructor(register: Register, { reads, writes }: RegisterDelays = {}) {
    const { collection } = register;
    const track = (send: () => Promise<unknown>) => {
      const write = async () => {
        await writes?.();
        return send();
      };
      const written = this.#isAlive ? write() : Promise.resolve();
      this.#heartbeats.add(written);
      return written;
    };
    this.register = Object.assign(Object.create(register), {
      // The first heartbeat.
      updateOne: (...args: Parameters<Register['updateOne']>) =>
        track(() => register.updateOne(...args).exec()),
      collection: Object.assign(Object.create(collection), {
        ...(reads && {
          find: (filter: object, options: object) => ({
            toArray: () => reads().then(() => collection.find(filter, options).toArray()),
          }),
        }),
        updateOne: (...args: Parameters<Register['collection']['updateOne']>) =>
          track(() => collection.updateOne(...args)),
      }),
    }) as Register;
  }

  /** Resolves when the heartbeats are stored. */
  async settled(): Promise<void> {
    await Promise.all(this.#heartbeats);
    this.#heartbeats.clear();
  }

  /** Sends no heartbeat any more, as after a kill. */
  stop(): void {
    this.#isAlive = false;
  }
}
