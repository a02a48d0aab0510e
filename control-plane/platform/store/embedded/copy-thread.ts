/**
 * Entry point of a short-lived thread that copies the database into one compact file: the data committed when
 * the copy starts, while the database keeps serving.
 */
import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

const { from, to } = workerData as { from: string; to: string };
const database = new DatabaseSync(from, { readOnly: true, timeout: 5_000 });
database.prepare('VACUUM INTO ?').run(to);
database.close();
