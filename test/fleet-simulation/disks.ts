/** The disks of the machines: spools, each locked by the process that writes it. */
import { createSpool, type Spool } from '#runtime/link/spool.ts';
import type { VirtualProcess } from './virtual-process.ts';

interface SpoolFile {
  text: string;
  aliveAt: Date | null;
  owner: VirtualProcess | null;
}

/** The data directory of one machine; it outlives its processes. */
export class Disk {
  readonly #files = new Map<string, SpoolFile>();

  /** Opens the spool of a new worker. */
  open(instanceId: string, owner: VirtualProcess): Spool {
    const file: SpoolFile = { text: '', aliveAt: null, owner };
    this.#files.set(instanceId, file);
    return this.#spoolOf(instanceId, file, null);
  }

  /** Takes the spools whose owners are dead. */
  adopt(owner: VirtualProcess): Map<string, Spool> {
    const adopted = new Map<string, Spool>();
    for (const [instanceId, file] of this.#files) {
      if (file.owner?.isAlive) continue;
      file.owner = owner;
      adopted.set(instanceId, this.#spoolOf(instanceId, file, file.aliveAt));
    }
    return adopted;
  }

  #spoolOf(instanceId: string, file: SpoolFile, aliveAt: Date | null): Spool {
    return createSpool(
      {
        append: async (line) => {
          file.text += line;
        },
        touch: async (at) => {
          file.aliveAt = at;
        },
        empty: async () => {
          file.text = '';
        },
        close: async (isWaiting) => {
          file.owner = null;
          if (!isWaiting) this.#files.delete(instanceId);
        },
      },
      file.text,
      aliveAt,
    );
  }
}
