/**
 * `npm run bench:retention [sessions]`: two replicas delete the recordings and flight logs of 800 calls (or
 * the given number) of eight tenants from a bucket that answers after 20 ms. Budget: 200 calls in a second,
 * and each object deleted once. The replicas share one process and one database.
 */
import { flightLogPrefix, recordingPrefix } from '#control-plane/calls/recordings/recording-store.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { openBlobs } from '#media/blobs/blobs.ts';
import { openTestCalls } from '#test/control-plane/test-calls.ts';
import type { BucketJob, BucketState } from './bucket-process.ts';
import { judge, toText } from './figures.ts';
import { Part } from './part.ts';

const TENANTS = 8;
/** Objects of a call of ten minutes: two sides and a flight log. */
const OBJECTS = { recording: 22, flightLog: 11 };
const LEAST_PER_SECOND = 200;
const LONG_AGO = new Date('2020-01-01T00:00:00Z');

const sessions = TENANTS * Math.ceil(Number(process.argv[2] ?? 800) / TENANTS);
const bucket = new Part(new URL('./bucket-process.ts', import.meta.url));
const ask = (keys: readonly string[]) => bucket.ask<BucketState>({ keys } satisfies BucketJob);
const api = await openTestCalls();
const { endpoint, credentials } = await ask(await seed());
const context = { ...api.context, blobs: openBlobs(`s3://calls?endpoint=${endpoint}`, credentials) };
const startMs = performance.now();
await Promise.all(['one', 'two'].map((replica) => enforceRetention(context, replica)));
const seconds = (performance.now() - startMs) / 1_000;
const { deletions, objects, requests } = await ask([]);
const load = `${sessions} calls, ${requests} requests to the bucket`;
const figures = [
  judge({ what: 'time per call, two replicas', load, unit: 'ms', samples: sessions }, [
    { name: '', value: (1_000 * seconds) / sessions, limit: 1_000 / LEAST_PER_SECOND },
  ]),
  judge({ what: 'deletions of what is deleted already', load, unit: '', samples: sessions, digits: 0 }, [
    { name: '', value: deletions - 2 * sessions, limit: 0 },
  ]),
  judge({ what: 'objects left', load, unit: '', samples: sessions, digits: 0 }, [
    { name: '', value: objects, limit: 0 },
  ]),
];
console.log(`${(sessions / seconds).toFixed(0)} calls in a second\n\n${toText(figures)}\n`);
process.exitCode = figures.every(({ verdict }) => verdict === 'met') ? 0 : 1;
await api.close();
bucket.close();

/** Stores ended calls; returns the keys of their objects. */
async function seed(): Promise<string[]> {
  const keys: string[] = [];
  for (let tenant = 0; tenant < TENANTS; tenant++) {
    const user = await api.createUser();
    const ids = Array.from({ length: sessions / TENANTS }, (_, index) => `session-${tenant}-${index}`);
    const rows = ids.map((_id) => ({ _id, team_id: user.teamId, created_at: LONG_AGO, ended_at: LONG_AGO }));
    await api.context.models.sessions.collection.insertMany(rows as never[]);
    for (const id of ids) {
      for (let index = 0; index < OBJECTS.recording; index++) keys.push(`${recordingPrefix(id)}${index}`);
      for (let index = 0; index < OBJECTS.flightLog; index++) keys.push(`${flightLogPrefix(id)}${index}`);
    }
    const days = { recordings_days: 7, flight_logs_days: 7 };
    await api.request('PATCH', '/v1/agent/privacy', { key: user.key, body: days });
  }
  return keys;
}
