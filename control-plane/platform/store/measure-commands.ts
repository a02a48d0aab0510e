/**
 * Measures the commands of a model, each with its repetitions and its waits for a connection: that is what a
 * request waits for. The driver's own monitoring sees neither, and counts whole milliseconds.
 */
import { isDuplicateKey } from './duplicate-key.ts';

/** Called after each command with its duration, ms. A duplicate key is `ok`, as an answer. */
export type OnCommand = (command: StoreCommand, outcome: 'ok' | 'error', ms: number) => void;

/** Kinds of commands. */
export const STORE_COMMANDS = [
  'find',
  'insert',
  'update',
  'delete',
  'find_and_modify',
  'bulk_write',
  'aggregate',
  'count',
  'distinct',
] as const;
type StoreCommand = (typeof STORE_COMMANDS)[number];

const KINDS: Readonly<Record<string, StoreCommand>> = {
  findOne: 'find',
  insertOne: 'insert',
  insertMany: 'insert',
  updateOne: 'update',
  updateMany: 'update',
  replaceOne: 'update',
  deleteOne: 'delete',
  deleteMany: 'delete',
  findOneAndUpdate: 'find_and_modify',
  findOneAndReplace: 'find_and_modify',
  findOneAndDelete: 'find_and_modify',
  bulkWrite: 'bulk_write',
  countDocuments: 'count',
  estimatedDocumentCount: 'count',
  distinct: 'distinct',
};
/** These send their command when their documents are read. */
const CURSORS = ['find', 'aggregate'] as const;

type Method = (...parameters: unknown[]) => unknown;

/** Measures every command that the model sends; of a cursor, those that read all of it at once. */
export function measureCommands(
  { collection }: { readonly collection: object },
  onCommand: OnCommand,
  nowMs: () => number,
): void {
  const methods = collection as Record<string, Method>;
  const measure = async (command: StoreCommand, work: () => Promise<unknown>): Promise<unknown> => {
    const startMs = nowMs();
    try {
      const result = await work();
      onCommand(command, 'ok', nowMs() - startMs);
      return result;
    } catch (error) {
      onCommand(command, isDuplicateKey(error) ? 'ok' : 'error', nowMs() - startMs);
      throw error;
    }
  };
  for (const [name, command] of Object.entries(KINDS)) {
    const send = methods[name] as Method;
    methods[name] = (...parameters) =>
      measure(command, () => send.apply(collection, parameters) as Promise<unknown>);
  }
  for (const name of CURSORS) {
    const open = methods[name] as Method;
    methods[name] = (...parameters) => {
      const cursor = open.apply(collection, parameters) as Record<'toArray', Method>;
      const read = cursor.toArray;
      cursor.toArray = () => measure(name, () => read.call(cursor) as Promise<unknown>);
      return cursor;
    };
  }
}
