/** A team whose calls are finished and archived. */
import { randomBytes } from 'node:crypto';
import { startAnalysisRunner } from '#control-plane/jobs/analysis/analysis-runner.ts';
import { CallCounter } from '#control-plane/operations/analytics/call-counter.ts';
import { Archiver } from '#control-plane/operations/archive/archive-sessions.ts';
import { scoreCalls } from '#control-plane/operations/scorecard/score-counter.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { ANNOUNCED_MS, archivedMonths } from '#control-plane/platform/store/session-archive.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

export const DAY_MS = 24 * 60 * 60 * 1_000;

/** The API with helpers for archived calls of one tenant. */
export interface TestArchive extends TestCalls {
  /** Creates a new account whose calls are made from here on. */
  newTenant(): Promise<TestUser>;
  /** Empties sessions and archive, and creates such an account. */
  startAfresh(): Promise<void>;
  readonly user: () => TestUser;
  readonly agentId: () => string;
  /** Makes a call; it is over, and nothing is left to do with it. */
  finished(endUserId?: string): Promise<string>;
  /**
   * Stores copies of a finished call, this many hours apart, the newest now; returns their ids in that order.
   */
  copies(
    count: number,
    hours: number,
    change?: (index: number) => Partial<SessionDocument>,
  ): Promise<string[]>;
  /** Archives what was created before this many days ago; returns what is among the sessions. */
  archive(days?: number): Promise<string[]>;
  /** Ids among the sessions, and in the archive. */
  places(): Promise<{ sessions: string[]; archive: string[] }>;
  get(path: string): ReturnType<TestCalls['request']>;
  /** Ids of all pages of a list. */
  list(parameters?: string, by?: 'cursor' | 'page'): Promise<string[]>;
}

/** Opens the API for tests of the archive. */
export async function openTestArchive(environment: Record<string, string> = {}): Promise<TestArchive> {
  const api = await openTestCalls(environment);
  let user: TestUser;
  let agentId = '';
  const get = (path: string) => api.request('GET', path, { key: user.key });
  const finished = async (end_user_id = 'person') => {
    const body = { agent_id: agentId, end_user_id };
    const created = await api.request('POST', '/v1/agent/sessions', { key: user.key, body });
    const id: string = created.body.session_id;
    await api.report(id, { type: 'joined', at: api.at() });
    await api.report(id, { type: 'ended', at: api.at(5_000), end_reason: 'user_hangup' });
    const analyses = startAnalysisRunner(api.context);
    await analyses.idle();
    await analyses.close();
    await new CallCounter(api.context, 'test').count();
    await scoreCalls(api.context);
    return id;
  };
  const idsIn = async (collection: { find: (filter: object) => { toArray(): Promise<unknown[]> } }) =>
    ((await collection.find({})).toArray() as Promise<{ _id: string }[]>).then((found) =>
      found.map(({ _id }) => _id).sort(),
    );
  const places = async () => {
    const months = await archivedMonths(api.context);
    const archived = await Promise.all(months.map(({ collection }) => idsIn(collection as never)));
    return {
      sessions: await idsIn(api.context.models.sessions.collection as never),
      archive: archived.flat().sort(),
    };
  };
  const newTenant = async () => {
    user = await api.createUser();
    agentId = await api.publishAgent(user);
    return user;
  };
  return {
    ...api,
    newTenant,
    startAfresh: async () => {
      const { models } = api.context;
      for (const { collection } of await archivedMonths(api.context)) await collection.deleteMany({});
      await models.sessionArchives.deleteMany({});
      await models.sessions.deleteMany({});
      // Lists know the archive as it was some seconds ago.
      await api.clock.advance(ANNOUNCED_MS);
      await newTenant();
    },
    user: () => user,
    agentId: () => agentId,
    finished,
    copies: async (count, hours, change = () => ({})) => {
      const stored = (await api.context.models.sessions.findById(await finished()).lean()) as SessionDocument;
      const { _id: original, ...session } = stored;
      const copies = Array.from({ length: count }, (_, index) => {
        const _id = randomBytes(8).toString('hex');
        return {
          ...session,
          _id,
          wrapped_key: api.context.dataKeys.create(_id).wrappedKey,
          analysis: { ...session.analysis, result: null },
          created_at: new Date(session.created_at.getTime() - index * hours * 3_600_000),
          ...change(index),
        };
      });
      await api.context.models.sessions.deleteOne({ _id: original });
      await api.context.models.sessions.collection.insertMany(copies as never[]);
      return copies.map(({ _id }) => _id);
    },
    archive: async (days = 0) => {
      const archiver = new Archiver(api.context, 'test');
      const before = new Date(api.clock.wallTime() - days * DAY_MS + 1);
      // First the time is announced, then the months.
      while (!(await archiver.archive(before))) await api.clock.advance(ANNOUNCED_MS);
      return (await places()).sessions;
    },
    places,
    get,
    list: async (parameters = '', by = 'cursor') => {
      const ids: string[] = [];
      let next = '';
      for (let page = 1; ; page++) {
        const start = by === 'page' ? `&page=${page}` : next;
        const { body } = await get(`/v1/agent/sessions?page_size=4${parameters}${start}`);
        ids.push(...body.sessions.map((session: { session_id: string }) => session.session_id));
        if (!body.has_more) return ids;
        next = `&cursor=${encodeURIComponent(body.next_cursor)}`;
      }
    },
  };
}
