/**
 * Entry of a thread that lives for one copy of the database: a whole, compact file of what was committed when
 * it began, while everything goes on.
 */
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

const { from, to } = workerData as { from: string; to: string };
const database = new DatabaseSync(from, { readOnly: true, timeout: 5_000 });
database.prepare('VACUUM INTO ?').run(to);
database.close();
