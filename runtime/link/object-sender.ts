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
import type { UploadOutcome, UploadSender } from './upload-sender.ts';

/** Objects of several calls share a question. There is time: the control plane has their pieces. */
const GATHER_MS = 1_000;
const MOST_ASKED = 100;
const ANSWER_WITHIN_MS = 5_000;
/** After a failure, objects go through the control plane for so long: the bucket may be out of reach here. */
const DETOUR_MS = 5 * 60_000;
/** A worker that drains has hundreds. */
const MOST_AT_ONCE = 8;

/** Dependencies of the objects of one worker. */
export interface ObjectSenderDeps {
  /** The control plane's address. */
  readonly url: string;
  /** The workers' token. */
  readonly token: string;
  /** Of this worker. */
  readonly instanceId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly packer: Pick<Packer, 'store'>;
  /** The way through the control plane, of objects only: if they fail, pieces must not wait for them. */
  readonly sender: Pick<UploadSender, 'send' | 'waiting' | 'flushed'>;
}

/** An object, and the receiver of its outcome. */
interface WaitingObject {
  readonly object: Upload;
  readonly onDone: (outcome: UploadOutcome) => void;
}

/** Stores the objects of one worker. */
export class ObjectSender {
  readonly #deps: ObjectSenderDeps;
  readonly #queue: WaitingObject[] = [];
  readonly #storing = new Set<Promise<void>>();
  readonly #taken = new Set<Upload>();
  #gathering: Timer | null = null;
  #detourUntilMs = Number.NEGATIVE_INFINITY;

  constructor(deps: ObjectSenderDeps) {
    this.#deps = deps;
  }

  /** Stores an object; `onDone` is called once. */
  send(object: Upload, onDone: (outcome: UploadOutcome) => void = () => undefined): void {
    if (this.#isOnDetour) {
      this.#deps.sender.send(object, onDone);
      return;
    }
    this.#queue.push({ object, onDone });
    this.#gathering ??= this.#deps.clock.after(GATHER_MS, () => this.#pump());
  }

  /** Objects that are not stored yet; the items are the same ones until they are. */
  waiting(): { readonly items: readonly object[]; readonly bytes: number } {
    const { items, bytes } = this.#deps.sender.waiting();
    const here = [...this.#queue.map(({ object }) => object), ...this.#taken];
    const size = here.reduce((sum, object) => sum + object.bytes.byteLength, 0);
    return { items: [...here, ...items], bytes: size + bytes };
  }

  /** Resolves when nothing is waiting. */
  async flushed(): Promise<void> {
    this.#pump();
    while (this.#storing.size > 0) await Promise.all(this.#storing);
    await this.#deps.sender.flushed();
  }

  get #isOnDetour(): boolean {
    return this.#deps.clock.now() < this.#detourUntilMs;
  }

  #pump(): void {
    this.#gathering?.cancel();
    this.#gathering = null;
    while (this.#queue.length > 0) {
      const objects = this.#queue.splice(0, MOST_ASKED);
      for (const { object } of objects) this.#taken.add(object);
      const storing = this.#store(objects).finally(() => this.#storing.delete(storing));
      this.#storing.add(storing);
    }
  }

  async #store(objects: readonly WaitingObject[]): Promise<void> {
    const addresses = await this.#ask(objects.map(({ object }) => object));
    const left = [...objects.entries()];
    const storeNext = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [index, waiting] = next;
        await this.#storeOne(waiting, addresses[index] ?? null);
      }
    };
    await Promise.all(Array.from({ length: MOST_AT_ONCE }, storeNext));
  }

  async #storeOne(waiting: WaitingObject, address: ObjectAddress | null): Promise<void> {
    const { object, onDone } = waiting;
    // Another one may have failed meanwhile: a bucket that does not answer costs 20 s each time.
    const isStored = address !== null && !this.#isOnDetour && (await this.#put(object, address));
    this.#taken.delete(object);
    if (!isStored) this.#deps.sender.send(object, onDone);
    else {
      onDone('stored');
      this.#deps.sender.send({ head: { ...object.head, salt: address.salt }, bytes: new Uint8Array() });
    }
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
    const { url, token, instanceId, clock } = this.#deps;
    const tooLong = new AbortController();
    const timer = clock.after(ANSWER_WITHIN_MS, () => tooLong.abort(new Error('no answer in time')));
    try {
      const response = await request(`${url}${ADDRESSES_PATH}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          instance_id: instanceId,
          objects: objects.map(({ head, bytes }) => ({ head, bytes: bytes.byteLength })),
        }),
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
