/**
 * Three weeks of calls to two agents, for pictures of pages that show how calls changed over time. They go
 * through the API, the counters and the learner of the product under a clock of their own, before the product
 * that is pictured opens the same store. Callers are simulated; each run has the same ones.
 */
import { createLogger } from '#base/log.ts';
import { loadCredentials } from '#config/credentials.ts';
import { readSettings } from '#config/env.ts';
import { measureRegret } from '#control-plane/jobs/regret/regret-runner.ts';
import { learnersCandidates, runLearners } from '#control-plane/operations/learning/learner.ts';
import { settingOf } from '#control-plane/operations/learning/learning-store.ts';
import { countShares } from '#control-plane/operations/shares/share-counter.ts';
import { buildIndexes } from '#control-plane/platform/store/build-indexes.ts';
import { openDatabase } from '#control-plane/platform/store/database.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import type { VersionDocument } from '#control-plane/platform/store/models/version-model.ts';
import { defineModels } from '#control-plane/platform/store/models.ts';
import { openBlobs } from '#media/blobs/blobs.ts';
import { begunCall, endCall, sendLog } from '#test/control-plane/logged-calls.ts';
import { ScoredAgent, type ScoredCall } from '#test/control-plane/operations/scorecard/scored-agent.ts';
import { openTestCalls, type TestCalls } from '#test/control-plane/test-calls.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { textOf } from '#test/runtime/replay/logged-call.ts';
import { createRandom, logNormal, type Random } from '#test/simulation/random.ts';
import { callOf } from '#test/simulation/regret/regret-callers.ts';

const DAYS = 21;
const CALLS_A_DAY = 36;
const DAY_MS = 24 * 60 * 60_000;
/** Between the calls of a day, of nine hours. */
const BETWEEN_MS = 15 * 60_000;
/** The days on which the second version is published, the third gets its share, and the learner begins. */
const SECOND_DAY = 12;
const THIRD_DAY = 14;
const LEARNING_DAY = 2;
const HOLDER = 'pictures';

/** How often what happens in the calls of a version. */
interface Manner {
  readonly deadAir: number;
  readonly slowTool: number;
  readonly notBooked: number;
  readonly waitMs: number;
}
const FIRST: Manner = { deadAir: 0.04, slowTool: 0.03, notBooked: 0.22, waitMs: 900 };
const SECOND: Manner = { deadAir: 0.34, slowTool: 0.38, notBooked: 0.27, waitMs: 1_300 };
const THIRD: Manner = { deadAir: 0.03, slowTool: 0.02, notBooked: 0.19, waitMs: 850 };
/** Waits of the desk, and those of its draft in the end, which a rehearsal compares. */
const WAITS = { eagerness: 'balanced', response_wait_ms: 1_000 } as const;
const QUICKER = { eagerness: 'balanced', response_wait_ms: 600 } as const;

/** The account with the agents, and its key. */
export interface PastAgents {
  readonly key: string;
  /** Its scorecard has an alert, and a share of its calls has another version. */
  readonly deskId: string;
  /** It learns its waits. */
  readonly learnerId: string;
}

/** Makes the calls in the store of this directory, which no product uses yet. */
export async function makePastCalls(dataDir: string): Promise<PastAgents> {
  const settings = readSettings({ DATA_DIR: dataDir });
  const { deploymentKey, ...credentials } = loadCredentials(settings);
  if (!deploymentKey) throw new Error('the store has a master key');
  const clock = new ManualClock(Date.now() - DAYS * DAY_MS);
  const database = await openDatabase({
    ...{ mongodbUrl: undefined, dataDir, clock },
    logger: createLogger({ level: 'silent', name: 'past' }),
    expiryMs: DAYS * DAY_MS,
    onFatal: (error) => {
      throw error;
    },
  });
  const models = defineModels(database.connection);
  await buildIndexes(models);
  const api = await openTestCalls(
    { STARTING_CREDIT: '1000.00' },
    { clock, credentials: { ...credentials, deploymentKey }, blobs: openBlobs(settings.BLOBS_URL) },
    { database, models, close: () => database.close() },
  );
  try {
    return await new Past(api).make();
  } finally {
    await api.close();
  }
}

class Past {
  readonly #api: TestCalls;
  readonly #random = createRandom(24);
  #calls = 0;

  constructor(api: TestCalls) {
    this.#api = api;
  }

  async make(): Promise<PastAgents> {
    const desk = await this.#openDesk();
    const learnerId = await this.#openLearner(desk);
    for (let day = 0; day < DAYS; day++) {
      if (day === SECOND_DAY) await this.#publish(desk);
      if (day === THIRD_DAY) await this.#share(desk);
      if (day === LEARNING_DAY) await this.#learn(desk, learnerId);
      const startMs = this.#api.clock.now();
      for (let call = 0; call < CALLS_A_DAY; call++) {
        await this.#callDesk(desk, day);
        await this.#callLearner(desk, learnerId);
        await this.#api.clock.advance(BETWEEN_MS);
        if (call % 9 === 8) await this.#count(desk);
      }
      await this.#api.clock.advance(startMs + DAY_MS - this.#api.clock.now());
      console.log(`day ${day + 1} of ${DAYS}`);
    }
    await this.#change(desk, { conversation: QUICKER });
    return { key: desk.user.key, deskId: desk.id, learnerId };
  }

  async #openDesk(): Promise<ScoredAgent> {
    const desk = await ScoredAgent.open(
      this.#api,
      {
        ...greeting('Luigi’s, hello.'),
        conversation: WAITS,
        scorecard: {
          alerts: [
            { rate: 'dead_air', above: 'learned' },
            { rate: 'criterion:booked', above: 0.4, at_least_calls: 50 },
          ],
        },
      },
      { name: 'Luigi’s' },
    );
    await desk.request('PATCH', desk.path, { name: 'Front desk' });
    return desk;
  }

  async #openLearner({ user }: ScoredAgent): Promise<string> {
    const conversation = { eagerness: 'balanced', response_wait_ms: 1_500 };
    return this.#api.publishAgent(user, { conversation }, { name: 'Order line' });
  }

  async #learn(desk: ScoredAgent, learnerId: string): Promise<void> {
    const rules = { cut_off_bound: 6, wait_max_ms: 1_800, eagerness: ['relaxed', 'balanced'], share: 0.25 };
    await done(desk.request('PUT', `/v1/agent/agents/${learnerId}/learning`, rules));
  }

  async #publish(desk: ScoredAgent): Promise<void> {
    await this.#change(desk, greeting('Luigi’s, hello. Shall I look a booking up?'));
    await done(desk.request('POST', `${desk.path}/publish`, { version_title: 'Looks bookings up' }));
  }

  async #share(desk: ScoredAgent): Promise<void> {
    await this.#change(desk, greeting('Luigi’s, hello. Shall I look something up?'));
    await done(desk.request('PUT', `${desk.path}/share`, { share: 0.5 }));
  }

  async #change(desk: ScoredAgent, draft: object): Promise<void> {
    await done(desk.request('PATCH', `${desk.path}/config`, draft));
  }

  async #callDesk(desk: ScoredAgent, day: number): Promise<void> {
    const random = this.#random.fork();
    const person = `guest-${Math.floor(random.next() * 2_000)}`;
    const id = await desk.begin(person);
    const { share } = await desk.session(id);
    const manner = share?.arm === 'share' ? THIRD : day < SECOND_DAY ? FIRST : SECOND;
    this.#calls += 1;
    await sendLog(this.#api, id, textOf(callOf('mixed', this.#calls, WAITS).log));
    await desk.finish(id, happensIn(manner, random));
  }

  async #callLearner({ user }: ScoredAgent, agent_id: string): Promise<void> {
    this.#calls += 1;
    const end_user_id = `guest-${this.#calls}`;
    const id = await begunCall(this.#api, user.key, { agent_id, end_user_id });
    const { sessions, versions } = this.#api.context.models;
    const session = await sessions.findById(id).lean<SessionDocument>();
    const version = await versions.findById(session?.version_id).lean<VersionDocument>();
    if (!version) throw new Error('the call has no version');
    const { log } = callOf('quick', this.#calls, settingOf(version));
    await endCall(this.#api, id, textOf(log));
  }

  async #count(desk: ScoredAgent): Promise<void> {
    const { context } = this.#api;
    await desk.count();
    await countShares(context);
    await measureRegret(context, { holder: HOLDER, candidates: learnersCandidates(context) });
    await runLearners(context, HOLDER);
  }
}

/** What the agent says first: without a prompt, no language model is needed. */
function greeting(first_message: string) {
  return { prompt: { first_message_mode: 'fixed', first_message } };
}

function happensIn({ deadAir, slowTool, notBooked, waitMs }: Manner, random: Random): ScoredCall {
  const isSlow = random.chance(slowTool);
  const says = [
    'I would like to book a table for tomorrow evening',
    ...(random.chance(0.06) ? ['I would like to book a table for tomorrow evening please'] : []),
    ...(random.chance(0.015) ? ['This is ridiculous'] : []),
  ];
  return {
    says,
    waitMs: Math.round(logNormal(random, waitMs)),
    lengthMs: Math.round(random.between(40_000, 160_000)),
    toolMs: Math.round(isSlow ? random.between(3_200, 6_500) : random.between(200, 900)),
    booked: random.chance(0.05) ? 'unknown' : random.chance(notBooked) ? 'failure' : 'success',
    ...(random.chance(deadAir) ? { silentMs: Math.round(random.between(4_200, 7_000)) } : {}),
    ...(random.chance(0.02) ? { overlapMs: Math.round(random.between(1_600, 3_000)) } : {}),
  };
}

async function done(asked: ReturnType<ScoredAgent['request']>): Promise<void> {
  const { status, text } = await asked;
  if (status >= 300) throw new Error(text);
}
