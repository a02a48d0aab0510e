/**
 * Writes to an embedded database until it is killed, and prints each acknowledged write to standard output.
 * Started by `durability.test.ts`.
 */
import { writeSync } from 'node:fs';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { openDatabase } from '#control-plane/platform/store/database.ts';

interface Doc {
  _id: string;
  n: number;
  log: number[];
}

const [dataDir = '', round = ''] = process.argv.slice(2);
const logger = createLogger({ level: 'silent', name: 'kill-child' });
const database = await openDatabase({
  mongodbUrl: undefined,
  dataDir,
  clock: systemClock,
  logger,
  onFatal: () => process.exit(1),
});
const documents = database.connection.collection<Doc>('documents');
const entries = database.connection.collection<{ _id: string; seq: number; balance: number }>('entries');
await documents.createIndex({ n: 1 });
await entries.createIndex({ seq: -1 }, { unique: true });
const acknowledge = (line: string) => writeSync(1, `${line}\n`);

async function writeDocuments(writer: number): Promise<never> {
  for (let index = 0; ; index++) {
    const id = `${round}-${writer}-${index}`;
    await documents.insertOne({ _id: id, n: 0, log: [] });
    acknowledge(`document ${id} 0`);
    const updated = await documents.findOneAndUpdate(
      { _id: id, n: { $gte: 0 } },
      { $inc: { n: 5 }, $push: { log: 5 } },
      { returnDocument: 'after' },
    );
    acknowledge(`document ${id} ${updated?.n}`);
  }
}

/**
 * Writes a chain in which each entry builds on the previous one; the unique index resolves races between
 * writers.
 */
async function writeEntries(writer: number): Promise<never> {
  for (;;) {
    const [last] = await entries.find({}).sort({ seq: -1 }).limit(1).toArray();
    const seq = (last?.seq ?? 0) + 1;
    try {
      await entries.insertOne({ _id: `${round}-${writer}-${seq}`, seq, balance: (last?.balance ?? 0) + 3 });
      acknowledge(`entry ${seq} ${seq * 3}`);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 11_000)) throw error;
    }
  }
}

await Promise.all([...[0, 1, 2, 3].map(writeDocuments), ...[0, 1].map(writeEntries)]);
