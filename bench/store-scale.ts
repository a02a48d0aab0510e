/**
 * `npm run bench:store-scale [sessions [seconds]]`: creates, reads, lists and summarises sessions while a
 * million of them (or the given number) are stored, half of them in the archive, over the year before. Each
 * question is asked for 3 s (or the given time). Compares all but the summaries with a bare route: Fastify
 * and mongoose on the same collection of the same store, without validation, billing or key. Server and
 * callers share one process.
 */
import Fastify from 'fastify';
import { quantile } from '#caller/statistics.ts';
import { CallCounter } from '#control-plane/operations/analytics/call-counter.ts';
import { encodeCursor } from '#control-plane/platform/http/lists.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { createMonthIndexes, monthNamed, monthOf } from '#control-plane/platform/store/session-archive.ts';
import { LATENCY } from '#test/control-plane/calls/settlement/test-sessions.ts';
import { openTestCalls } from '#test/control-plane/test-calls.ts';
import { fdatasyncP50Ms } from './disk.ts';
import { type Figure, judge, toText } from './figures.ts';

const SEED_BATCH = 2_000;
/** Batches on their way to the store: it stores one while the next is made. */
const SEED_AT_ONCE = 3;
/** This share of the sessions is archived, over this time before the others. */
const ARCHIVED_SHARE = 0.5;
const ARCHIVED_MS = 365 * 86_400_000;
const PROGRESS_MS = 10_000;
const MIB = 1_048_576;
const CALLERS = 8;
const SECONDS = Number(process.argv[3] ?? 3);
/** One in this many stored sessions matches the filtered lists. */
const RARE_EVERY = 1_000;
const RARE = { status: 'failed', end_reason: 'dial_failed', caller_number: '+15550100077' };
/**
 * Limit for a page of the API, as a multiple of a bare one. The API also checks key and account, validates,
 * and formats the records.
 */
const TIMES_BARE = 4;
/** Creating makes nine requests to the store instead of one, including three sequential writes. */
const TIMES_BARE_CREATE = 10;
/** Limit for a deep page, as a multiple of the first page. */
const TIMES_FIRST = 1.5;
/** Limit for a read of an archived session, as a multiple of a bare read: it asks up to thirteen months. */
const TIMES_BARE_ARCHIVED = 3 * TIMES_BARE;
/** Limit for a page of the archive, as a multiple of the first page: it reads ids, then sessions. */
const TIMES_FIRST_ARCHIVED = 4;
/** Limit for statistics of all sessions. */
const SUMMARY_MS = 1_000;
/** Latencies of the turns of a session, ms: each has others. */
const TURNS = 2;
const SHORTEST_MS = 300;
const LATENCIES = 2_500;

const sessions = Number(process.argv[2] ?? 1_000_000);
const recent = sessions - Math.floor(sessions * ARCHIVED_SHARE);
const diskMs = fdatasyncP50Ms();
const api = await openTestCalls({
  STARTING_CREDIT: '1000000.00',
  LIMIT_UNJOINED_SESSIONS: 'none',
  LIMIT_SESSIONS_PER_MINUTE: 'none',
});
const { models } = api.context;
const user = await api.createUser();
const agentId = await api.publishAgent(user);
const template = await storedSession();
const newestMs = template.created_at.getTime();
const announced = new Set<string>();
const seededMs = await seed();
console.log(
  `${sessions} sessions stored in ${(seededMs / 1000).toFixed(0)} s, ` +
    `${Math.round((sessions / seededMs) * 1000)} per s; fdatasync p50 ${diskMs.toFixed(2)} ms`,
);

const countingMs = performance.now();
await new CallCounter(api.context, 'bench').count();
console.log(`counted in ${((performance.now() - countingMs) / 1000).toFixed(0)} s`);

const bare = Fastify();
bare.get<{ Params: { id: string } }>('/sessions/:id', ({ params }) =>
  models.sessions.findById(params.id).lean(),
);
bare.get('/sessions', () =>
  models.sessions
    .find({ team_id: user.teamId }, { timeline: 0 })
    .sort({ created_at: -1, _id: -1 })
    .limit(21)
    .lean(),
);
let inserted = 0;
bare.post('/sessions', () =>
  models.sessions.create({ ...template, _id: `bare-${inserted++}`, status: 'completed' }),
);
const bareUrl = await bare.listen({ host: '127.0.0.1', port: 0 });
const url = await api.app.listen({ host: '127.0.0.1', port: 0 });

const authorization = { authorization: `Bearer ${user.key}` };
const someId = () => idOf(Math.floor(Math.random() * recent));
const someArchivedId = () => idOf(recent + Math.floor(Math.random() * (sessions - recent)));
const list = (parameters = '') => get(`${url}/v1/agent/sessions?page_size=20${parameters}`);
const at = (depth: number) =>
  `&cursor=${encodeURIComponent(encodeCursor({ at: createdAt(depth), id: idOf(depth) }))}`;
const load = `${CALLERS} callers, ${sessions} stored`;

const figures: Figure[] = [];
await compare('create session', TIMES_BARE_CREATE, {
  measured: () => send(`${url}/v1/agent/sessions`, { agent_id: agentId }),
  reference: () => send(`${bareUrl}/sessions`),
});
// Lists skip unjoined sessions, of which an account may have few: thousands would be another measurement.
await models.sessions.deleteMany({ status: 'pending' });
await compare('read session', TIMES_BARE, {
  measured: () => get(`${url}/v1/agent/sessions/${someId()}`),
  reference: () => get(`${bareUrl}/sessions/${someId()}`),
});
await compare('list, first page', TIMES_BARE, {
  measured: () => list(),
  reference: () => get(`${bareUrl}/sessions`),
});
for (const [what, parameters] of [
  ['of a caller', '&caller_number=%2B15550100077'],
  ['of an end reason', '&end_reason=dial_failed'],
  ['of two statuses', '&status=completed,failed'],
] as const)
  await compare(`list ${what}, first page`, TIMES_BARE, {
    measured: () => list(parameters),
    reference: () => get(`${bareUrl}/sessions`),
  });
await compare('list of an agent, first page', TIMES_BARE, {
  measured: () => list(`&agent_id=${agentId}`),
  reference: () => get(`${bareUrl}/sessions`),
});
await compare('read archived session', TIMES_BARE_ARCHIVED, {
  measured: () => get(`${url}/v1/agent/sessions/${someArchivedId()}`),
  reference: () => get(`${bareUrl}/sessions/${someId()}`),
});
for (const share of [0.5, 0.99]) {
  const depth = Math.floor(recent * share);
  await compare(`list, page after ${depth} rows, against the first`, TIMES_FIRST, {
    measured: () => list(at(depth)),
    reference: () => list(),
  });
}
for (const [what, parameters] of [
  ['', ''],
  [' of a caller', '&caller_number=%2B15550100077'],
  [' of two statuses', '&status=completed,failed'],
] as const) {
  const depth = recent + Math.floor((sessions - recent) / 2);
  await compare(`list${what}, archived page after ${depth} rows, against the first`, TIMES_FIRST_ARCHIVED, {
    measured: () => list(`${parameters}${at(depth)}`),
    reference: () => list(parameters),
  });
}
for (const [interval, days] of [
  ['day', 93],
  ['hour', 14],
] as const)
  await summarise(interval, days);
console.log(`\n${toText(figures)}`);
await bare.close();
await api.close();

/** Measures both in turn, twice, so that neither bears the warm-up alone. */
async function compare(
  what: string,
  times: number,
  { measured, reference }: Record<'measured' | 'reference', () => Promise<unknown>>,
): Promise<void> {
  await run(measured, 0.5);
  await run(reference, 0.5);
  const latencies = { measured: await run(measured, SECONDS), reference: await run(reference, SECONDS) };
  const perSecond = Math.round(latencies.measured.length / SECONDS);
  const [p50, referenceP50] = [quantile(latencies.measured, 0.5), quantile(latencies.reference, 0.5)];
  const line = (name: string, values: readonly number[]) =>
    `${name} ${Math.round(values.length / SECONDS)} per s, p50 ${quantile(values, 0.5).toFixed(2)} ms, p99 ` +
    `${quantile(values, 0.99).toFixed(2)} ms`;
  console.log(`${what}: ${line('API', latencies.measured)}; ${line('reference', latencies.reference)}`);
  figures.push(
    judge(
      {
        what,
        load: `${load}, ${perSecond} per s`,
        unit: 'ms',
        samples: latencies.measured.length,
        digits: 2,
      },
      [
        { name: 'p50', value: p50, limit: times * referenceP50 },
        {
          name: 'p99',
          value: quantile(latencies.measured, 0.99),
          limit: times * quantile(latencies.reference, 0.99),
        },
      ],
    ),
  );
}

/** Measures the statistics of these days, with one caller. */
async function summarise(interval: 'hour' | 'day', days: number): Promise<void> {
  const from = new Date(newestMs - days * 86_400_000 + 60_000).toISOString();
  const operation = () => get(`${url}/v1/agent/analytics?interval=${interval}&from=${from}`);
  await run(operation, 0.5, 1);
  const latencies = await run(operation, SECONDS, 1);
  const what = `statistics of ${days} days by the ${interval}`;
  const load = `1 caller, ${sessions} stored`;
  figures.push(
    judge({ what, load, unit: 'ms', samples: latencies.length, digits: 1 }, [
      { name: 'p50', value: quantile(latencies, 0.5), limit: SUMMARY_MS },
      { name: 'p99', value: quantile(latencies, 0.99), limit: SUMMARY_MS },
    ]),
  );
}

async function run(operation: () => Promise<unknown>, seconds: number, callers = CALLERS): Promise<number[]> {
  const latencies: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  const caller = async () => {
    for (let beganMs = performance.now(); beganMs < endMs; beganMs = performance.now()) {
      await operation();
      latencies.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return latencies;
}

async function get(address: string): Promise<void> {
  await read(await fetch(address, { headers: authorization }));
}

async function send(address: string, body: object = {}): Promise<void> {
  await read(
    await fetch(address, {
      method: 'POST',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
}

async function read(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${text}`);
}

/** An ended session as the API stores it. */
async function storedSession(): Promise<SessionDocument> {
  const { body } = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  await api.report(body.session_id, { type: 'joined', at: api.at() });
  await api.report(body.session_id, { type: 'ended', at: api.at(30_000), end_reason: 'user_hangup' });
  const stored = await models.sessions.findById(body.session_id).lean<SessionDocument>();
  if (stored?.status !== 'completed') throw new Error('the session to copy has not ended');
  // As of an earlier release: what is copied is counted from the stored sessions.
  const { uncounted: _, ...session } = stored;
  return { ...session, analysis: { ...stored.analysis, state: 'skipped' }, due: 0 };
}

/** Inserts copies directly into the store, newest first, the older ones into the months of the archive. */
async function seed(): Promise<number> {
  const beganMs = performance.now();
  let toldMs = beganMs;
  const stored: Promise<unknown>[] = [];
  for (let first = 0; first < sessions; first += SEED_BATCH) {
    const copies = Array.from({ length: Math.min(SEED_BATCH, sessions - first) }, (_, index) =>
      copy(first + index),
    );
    for (const [collection, some] of await placesOf(copies, first))
      stored.push(collection.insertMany(some as never[]));
    if (stored.length > SEED_AT_ONCE) await stored.shift();
    if (performance.now() - toldMs < PROGRESS_MS) continue;
    toldMs = performance.now();
    const perSecond = Math.round((first + copies.length) / ((toldMs - beganMs) / 1_000));
    console.log(
      `${first + copies.length} of ${sessions} stored, ${perSecond} per s, ` +
        `${Math.round(process.memoryUsage.rss() / MIB)} MiB resident`,
    );
  }
  await Promise.all(stored);
  const before = createdAt(recent - 1);
  await models.sessionArchives.create({
    _id: 'state',
    since: before,
    before,
    lease_by: null,
    lease_until: null,
  });
  return performance.now() - beganMs;
}

function copy(index: number): SessionDocument {
  return {
    ...template,
    _id: idOf(index),
    wrapped_key: api.context.dataKeys.create(idOf(index)).wrappedKey,
    created_at: createdAt(index),
    turns: Array.from({ length: TURNS }, (_, turn) => ({
      ...LATENCY,
      total_ms: SHORTEST_MS + ((index * TURNS + turn) % LATENCIES),
    })),
    ...(index < recent ? {} : { counted_turns: TURNS }),
    ...(index % RARE_EVERY === 0 ? (RARE as Partial<SessionDocument>) : {}),
  };
}

/** The collections of these sessions, which begin with this index; announces their months. */
async function placesOf(
  copies: readonly SessionDocument[],
  first: number,
): Promise<[typeof models.sessions.collection, SessionDocument[]][]> {
  const places = new Map<string, SessionDocument[]>();
  for (const [index, session] of copies.entries()) {
    const name = first + index < recent ? '' : monthOf(session.created_at);
    const some = places.get(name) ?? [];
    places.set(name, some);
    some.push(session);
  }
  for (const name of places.keys()) {
    if (name === '' || announced.has(name)) continue;
    announced.add(name);
    await createMonthIndexes(monthNamed(api.context, name));
    const since = new Date(newestMs);
    await models.sessionArchives.create({ _id: name, since, lease_by: null, lease_until: null });
  }
  return [...places].map(([name, some]) => [
    name === '' ? models.sessions.collection : monthNamed(api.context, name).collection,
    some,
  ]);
}

function idOf(index: number): string {
  return `${index}`.padStart(32, '0');
}

function createdAt(index: number): Date {
  const archivedMs = (Math.max(0, index - recent) * ARCHIVED_MS) / Math.max(1, sessions - recent);
  return new Date(newestMs - Math.min(index, recent) * 1_000 - Math.floor(archivedMs));
}
