/** A collection as Mongoose and the product use it, over the simulated database. */
import mongoose from 'mongoose';
import { StoreError } from '#control-plane/platform/store/embedded/store-error.ts';
import type { Models } from '#control-plane/platform/store/models.ts';
import type { Fields } from './store-engine.ts';
import type { CommandKind, StoreServer } from './store-server.ts';
import type { VirtualProcess } from './virtual-process.ts';

const { MongoBulkWriteError, MongoServerError } = mongoose.mongo;

interface Options {
  readonly projection?: Fields;
  readonly sort?: Fields;
  readonly limit?: number;
  readonly skip?: number;
  readonly upsert?: boolean;
  readonly ordered?: boolean;
  readonly returnDocument?: 'before' | 'after';
}

interface BulkUpdate {
  readonly updateOne: { readonly filter: Fields; readonly update: Fields };
}

interface WriteError {
  readonly index: number;
  readonly code: number;
  readonly errmsg: string;
}

/** The models of one process, whose every command goes to the simulated database. */
export function connectModels(models: Models, server: StoreServer, process: VirtualProcess): Models {
  for (const model of Object.values(models)) {
    const name = model.collection.collectionName;
    const collection = new VirtualCollection(name, (command, kind) => send(server, process, command, kind));
    Object.assign(model, { collection, $__collection: collection });
  }
  // Parts of the product keep memory for each set of models.
  return { ...models };
}

async function send(
  server: StoreServer,
  process: VirtualProcess,
  command: Fields,
  kind: CommandKind,
): Promise<Fields> {
  try {
    return await server.run(process, command, kind);
  } catch (error) {
    throw error instanceof StoreError ? driverError(error.message, error.code) : error;
  }
}

function driverError(message: string, code: number): Error {
  return new MongoServerError({ message, errmsg: message, code });
}

class VirtualCollection {
  readonly collectionName: string;
  readonly #send: (command: Fields, kind: CommandKind) => Promise<Fields>;

  constructor(name: string, sendCommand: (command: Fields, kind: CommandKind) => Promise<Fields>) {
    this.collectionName = name;
    this.#send = sendCommand;
  }

  get name(): string {
    return this.collectionName;
  }

  find(filter: Fields, { projection, sort, limit, skip }: Options = {}) {
    return {
      toArray: async () => {
        const command = {
          find: this.collectionName,
          filter,
          projection,
          sort,
          limit,
          skip,
          singleBatch: true,
        };
        return (await this.#send({ ...command, batchSize: 10_000 }, 'read'))['documents'] as Fields[];
      },
    };
  }

  async findOne(filter: Fields, options: Options = {}): Promise<Fields | null> {
    const [found] = await this.find(filter, { ...options, limit: 1 }).toArray();
    return found ?? null;
  }

  async countDocuments(query: Fields): Promise<number> {
    return Number((await this.#send({ count: this.collectionName, query }, 'read'))['n']);
  }

  async distinct(key: string, query: Fields = {}): Promise<unknown[]> {
    return (await this.#send({ distinct: this.collectionName, key, query }, 'read'))['values'] as unknown[];
  }

  async insertOne(document: Fields) {
    const { writeErrors } = await this.#insert([document], true);
    const [refused] = writeErrors;
    if (refused) throw driverError(refused.errmsg, refused.code);
    return { acknowledged: true, insertedId: document['_id'] };
  }

  async insertMany(documents: readonly Fields[], { ordered = true }: Options = {}) {
    const { writeErrors } = await this.#insert(documents, ordered);
    if (writeErrors.length > 0) {
      const [first] = writeErrors as [WriteError];
      throw new MongoBulkWriteError(
        { message: first.errmsg, code: first.code, writeErrors } as never,
        { getWriteErrors: () => writeErrors } as never,
      );
    }
    return { acknowledged: true, insertedCount: documents.length };
  }

  updateOne(filter: Fields, update: Fields, options: Options = {}) {
    return this.#update({ q: filter, u: update, upsert: options.upsert === true, multi: false }, 'write');
  }

  updateMany(filter: Fields, update: Fields, options: Options = {}) {
    return this.#update({ q: filter, u: update, upsert: options.upsert === true, multi: true }, 'many');
  }

  /** Updates of one document each, which go on after an error. */
  async bulkWrite(operations: readonly BulkUpdate[]) {
    const updates = operations.map(({ updateOne: { filter, update } }) => ({ q: filter, u: update }));
    const command = { update: this.collectionName, updates, ordered: false };
    const { n, nModified } = await this.#send(command, 'write');
    return { matchedCount: Number(n), modifiedCount: Number(nModified) };
  }

  deleteOne(filter: Fields) {
    return this.#delete({ q: filter, limit: 1 }, 'write');
  }

  deleteMany(filter: Fields) {
    return this.#delete({ q: filter, limit: 0 }, 'many');
  }

  async findOneAndUpdate(query: Fields, update: Fields, options: Options = {}): Promise<Fields | null> {
    const command = {
      findandmodify: this.collectionName,
      query,
      update,
      fields: options.projection,
      sort: options.sort,
      upsert: options.upsert === true,
      new: options.returnDocument === 'after',
    };
    return ((await this.#send(command, 'write'))['value'] ?? null) as Fields | null;
  }

  async #insert(documents: readonly Fields[], ordered: boolean): Promise<{ writeErrors: WriteError[] }> {
    const reply = await this.#send({ insert: this.collectionName, documents, ordered }, 'write');
    return { writeErrors: (reply['writeErrors'] ?? []) as WriteError[] };
  }

  async #update(entry: Fields, kind: CommandKind) {
    const reply = await this.#send({ update: this.collectionName, updates: [entry] }, kind);
    const [refused] = (reply['writeErrors'] ?? []) as WriteError[];
    if (refused) throw driverError(refused.errmsg, refused.code);
    const upserted = (reply['upserted'] as unknown[] | undefined)?.length ?? 0;
    return {
      acknowledged: true,
      matchedCount: Number(reply['n']) - upserted,
      modifiedCount: Number(reply['nModified']),
      upsertedCount: upserted,
    };
  }

  async #delete(entry: Fields, kind: CommandKind) {
    const reply = await this.#send({ delete: this.collectionName, deletes: [entry] }, kind);
    return { acknowledged: true, deletedCount: Number(reply['n']) };
  }
}
