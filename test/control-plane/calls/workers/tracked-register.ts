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
    this.register = Object.assign(Object.create(register), {
      ...(reads && {
        find: (...args: Parameters<Register['find']>) => ({
          lean: () => reads().then(() => register.find(...args).lean()),
        }),
      }),
      updateOne: (...args: Parameters<Register['updateOne']>) => {
        const write = async () => {
          await writes?.();
          return register.updateOne(...args).exec();
        };
        const written = this.#isAlive ? write() : Promise.resolve();
        this.#heartbeats.add(written);
        return written;
      },
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
