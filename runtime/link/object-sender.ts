/**
 * Stores whole objects in the bucket without the control plane, which only signs their addresses. What cannot
 * be stored in this way goes through the control plane.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { parseJson } from '#base/parse-json.ts';
import { request } from '#base/undici.ts';
import { ADDRESSES_PATH, addressAnswer, type ObjectAddress, type Upload } from '#protocol/uploads.ts';
import type { Packer } from './packer.ts';
import type { UploadSender } from './upload-sender.ts';

/** Objects of several calls share a question. There is time: the control plane has their pieces. */
const GATHER_MS = 1_000;
const MOST_ASKED = 100;
const ANSWER_WITHIN_MS = 5_000;
/** After a failure, objects go through the control plane for so long: the bucket may be out of reach here. */
const DETOUR_MS = 5 * 60_000;

/** Dependencies of the objects of one worker. */
export interface ObjectSenderDeps {
  /** The control plane's address. */
  readonly url: string;
  /** The workers' token. */
  readonly token: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly packer: Pick<Packer, 'store'>;
  /** The way through the control plane. */
  readonly sender: Pick<UploadSender, 'send'>;
}

/** Stores the objects of one worker. */
export class ObjectSender {
  readonly #deps: ObjectSenderDeps;
  readonly #queue: Upload[] = [];
  readonly #storing = new Set<Promise<void>>();
  readonly #stored = new Set<Upload>();
  #gathering: Timer | null = null;
  #detourUntilMs = Number.NEGATIVE_INFINITY;

  constructor(deps: ObjectSenderDeps) {
    this.#deps = deps;
  }

  send(object: Upload): void {
    if (this.#deps.clock.now() < this.#detourUntilMs) {
      this.#deps.sender.send(object);
      return;
    }
    this.#queue.push(object);
    this.#gathering ??= this.#deps.clock.after(GATHER_MS, () => this.#pump());
  }

  /** Drops what waits of a session. */
  drop(sessionId: string, epoch: number): void {
    const kept = this.#queue.filter(({ head }) => head.session_id !== sessionId || head.epoch !== epoch);
    this.#queue.splice(0, this.#queue.length, ...kept);
  }

  /** Objects that neither the bucket nor the sender has yet. */
  waiting(): readonly Upload[] {
    return [...this.#queue, ...this.#stored];
  }

  /** Resolves when the bucket or the sender has everything. */
  async flushed(): Promise<void> {
    this.#pump();
    await Promise.all(this.#storing);
  }

  #pump(): void {
    this.#gathering?.cancel();
    this.#gathering = null;
    while (this.#queue.length > 0) {
      const objects = this.#queue.splice(0, MOST_ASKED);
      const storing = this.#store(objects).finally(() => this.#storing.delete(storing));
      this.#storing.add(storing);
    }
  }

  async #store(objects: readonly Upload[]): Promise<void> {
    for (const object of objects) this.#stored.add(object);
    const addresses = await this.#ask(objects);
    await Promise.all(
      objects.map(async (object, index) => {
        const address = addresses[index];
        const isStored = address ? await this.#put(object, address) : false;
        this.#stored.delete(object);
        const stored = { head: { ...object.head, is_in_bucket: true as const }, bytes: new Uint8Array() };
        this.#deps.sender.send(isStored ? stored : object);
      }),
    );
  }

  async #put(object: Upload, address: ObjectAddress): Promise<boolean> {
    const failure = await this.#deps.packer.store(object, address);
    if (failure === null) return true;
    this.#detourUntilMs = this.#deps.clock.now() + DETOUR_MS;
    const { head } = object;
    this.#deps.logger.warn({ upload: head, failure }, 'not stored in the bucket; the control plane gets it');
    return false;
  }

  /** The addresses of these objects; none if there is no answer, or one of an earlier version. */
  async #ask(objects: readonly Upload[]): Promise<readonly (ObjectAddress | null)[]> {
    const { url, token, clock } = this.#deps;
    const tooLong = new AbortController();
    const timer = clock.after(ANSWER_WITHIN_MS, () => tooLong.abort(new Error('no answer in time')));
    try {
      const response = await request(`${url}${ADDRESSES_PATH}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ objects: objects.map(({ head }) => head) }),
        signal: tooLong.signal,
      });
      return parseJson(addressAnswer, await response.body.text())?.addresses ?? [];
    } catch {
      // The sender tries for longer.
      return [];
    } finally {
      timer.cancel();
    }
  }
}
