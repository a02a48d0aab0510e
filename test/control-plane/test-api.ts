/**
 * The API over the embedded database, for tests: real routes, store and ledger; requests are injected without
 * a socket.
 */
import { randomBytes } from 'node:crypto';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { NO_LOCAL_MODELS } from '#config/local-models.ts';
import { platformModels } from '#config/platform-models.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import { countPosting } from '#control-plane/accounts/wallet/low-credit.ts';
import { seedDemo, seedOperator } from '#control-plane/operations/seed.ts';
import { createFirstAttempts } from '#control-plane/platform/background/first-attempts.ts';
import { createWorkSignals } from '#control-plane/platform/background/work-signals.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { HeldPieces } from '#control-plane/platform/held-pieces.ts';
import { KeyWatch } from '#control-plane/platform/http/key-watch.ts';
import { type ApiServer, createServer } from '#control-plane/platform/http/server.ts';
import { AccountTurns } from '#control-plane/platform/limits/account-turns.ts';
import { Refusals } from '#control-plane/platform/limits/refusals.ts';
import { createMetrics } from '#control-plane/platform/metrics.ts';
import { PublicAddress } from '#control-plane/platform/public-address.ts';
import { createDataKeys, createSecretBox } from '#control-plane/platform/secrets/secret-box.ts';
import { createMemoryCoordination } from '#control-plane/platform/store/coordination.ts';
import { countWrites } from '#control-plane/platform/store/count-writes.ts';
import { createReadCaches } from '#control-plane/platform/store/read-cache.ts';
import { ReportedSessions } from '#control-plane/platform/store/reported-sessions.ts';
import { SignallingReports } from '#control-plane/platform/store/signalling-reports.ts';
import { registerRoutes } from '#control-plane/routes.ts';
import { compatAnswersOf } from '#control-plane/speech/compat/compat-examples.ts';
import type { Blobs } from '#media/blobs/blobs.ts';
import { ModelDownloads } from '#media/speech/models/model-downloads.ts';
import { createSpeechPool } from '#media/speech/pool/speech-pool.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { createTestCatalogue } from '#telephony/carriers/test-catalogue.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { openTestStore, type TestStore } from './test-store.ts';

/** A response with its parsed body. */
export interface TestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  readonly body: any;
  readonly text: string;
}

/** The options of a request. */
interface TestRequest {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent verbatim instead of `body`. */
  readonly raw?: string | Buffer;
}

/** An account created through the operator's routes. */
export interface TestUser {
  readonly userId: string;
  readonly teamId: string;
  readonly workspaceId: string;
  readonly key: string;
}

/** The API under test. */
export interface TestApi {
  readonly app: ApiServer;
  readonly context: Context;
  readonly clock: ManualClock;
  readonly rootKey: string;
  request(
    method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE' | 'OPTIONS',
    url: string,
    request?: TestRequest,
  ): Promise<TestResponse>;
  createUser(account?: Record<string, unknown>): Promise<TestUser>;
  close(): Promise<void>;
}

const SILENT = createLogger({ level: 'silent', name: 'test' });
/** The address of the network card of the machine under test. */
export const OWN_ADDRESS = '192.0.2.77';
/** DNS results by name; other names resolve to a public address. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'private.example.com': '10.0.0.1',
  'trunk.example.com': '93.184.215.77',
  'alias-of-the-trunk.example.com': '93.184.215.77',
};

/**
 * Opens the API with these settings over the defaults. It closes a given store with it. Names under
 * `.example.com` resolve to a public address, `private.example.com` to a private one.
 */
export async function openTestApi(
  environment: Record<string, string> = {},
  over: Partial<Context> = {},
  stored?: Omit<TestStore, 'dataDir'>,
): Promise<TestApi> {
  // AccountTurns and paces are disabled: a request would wait for ever for a stopped clock.
  const settings = readSettings({
    DATA_DIR: '/nonexistent',
    LIMIT_REQUESTS: 'none',
    LIMIT_REFUSALS_PER_SECOND: 'none',
    LIMIT_UPLOAD_BYTES_PER_SECOND: 'none',
    ...environment,
  });
  const clock = over.clock instanceof ManualClock ? over.clock : new ManualClock();
  const store = stored ?? (await openTestStore());
  const metrics = createMetrics();
  const rootKey = over.credentials?.rootApiKey ?? `pk_${randomBytes(24).toString('hex')}`;
  const deploymentKey = over.credentials?.deploymentKey ?? randomBytes(32);
  const turns = new AccountTurns(clock, settings.LIMIT_REQUESTS);
  const context: Context = {
    settings,
    credentials: {
      rootApiKey: rootKey,
      workerToken: randomBytes(24).toString('hex'),
      deploymentKey,
      file: '',
    },
    clock,
    logger: SILENT,
    database: store.database,
    models: store.models,
    caches: createReadCaches(store.models, true),
    storeWrites: store.database.kind === 'embedded' ? countWrites(store.models) : undefined,
    keyWatch: new KeyWatch({ clock, logger: SILENT, models: store.models }),
    coordination: createMemoryCoordination(clock),
    secretBox: createSecretBox(deploymentKey),
    dataKeys: createDataKeys(deploymentKey),
    blobs: memoryBlobs(),
    held: new HeldPieces(256 * 1024 * 1024),
    signallingReports: new SignallingReports(clock),
    workSignals: createWorkSignals(),
    firstAttempts: createFirstAttempts(),
    reported: new ReportedSessions(),
    turns,
    refusals: new Refusals(clock, settings.LIMIT_REFUSALS_PER_SECOND),
    ledger: createLedger({
      entries: store.models.ledger,
      clock,
      posted: (entry) => countPosting(metrics, entry),
    }),
    dispatch: { hasWorker: () => false } as unknown as Context['dispatch'],
    egress: createEgressGuard({
      allow: settings.EGRESS_ALLOW,
      clock,
      resolve: async (host) => [ADDRESSES[host] ?? '93.184.215.14'],
    }),
    platform: platformModels(settings, { localRecognition: [] }),
    localModels: NO_LOCAL_MODELS,
    rooms: null,
    speech: createSpeechPool({
      settings,
      searchPath: process.env['PATH'] ?? '',
      cores: 1,
      clock: systemClock,
      hasOthers: (account) => turns.hasOthers(account),
    }),
    speechModels: new ModelDownloads({
      settings,
      clock: systemClock,
      logger: SILENT,
      onReady: () => undefined,
    }),
    carrier: createTestCatalogue(),
    metrics,
    tracing: null,
    noteActivity: () => undefined,
    publicAddress: new PublicAddress(settings),
    troubleLine: (language) => phrasesFor(language).trouble,
    ...over,
  };
  const app = await createServer(context, { compatAnswersOf });
  await registerRoutes(app, context);
  await seedOperator(context);
  await seedDemo(context);
  const request: TestApi['request'] = async (method, url, { key, body, headers, raw } = {}) => {
    const response = await app.inject({
      method,
      url,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined && raw === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(raw !== undefined ? { payload: raw } : body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const isJson = String(response.headers['content-type'] ?? '').startsWith('application/json');
    return {
      status: response.statusCode,
      headers: response.headers as Record<string, string>,
      body: isJson ? response.json() : undefined,
      text: response.body,
    };
  };
  return {
    app,
    context,
    clock,
    rootKey,
    request,
    createUser: async (account = {}) => {
      const { status, body, text } = await request('POST', '/admin/users', {
        key: rootKey,
        body: { name: 'Test', ...account },
      });
      if (status !== 201) throw new Error(`user not created: ${text}`);
      return {
        userId: body.user_id,
        teamId: body.team_id,
        workspaceId: body.workspace_id,
        key: body.api_key,
      };
    },
    close: async () => {
      await app.close();
      await context.coordination.close();
      await context.egress.close();
      await context.speech.close();
      await context.speechModels.close();
      await store.close();
    },
  };
}

/** Blobs in memory; `isBucket` as of a bucket. */
export function memoryBlobs(isBucket = false): Blobs {
  const blobs = new Map<string, Buffer>();
  const list = async (prefix: string) => [...blobs.keys()].filter((key) => key.startsWith(prefix)).sort();
  return {
    isBucket,
    put: async (key, bytes) => void blobs.set(key, Buffer.from(bytes)),
    putAddress: async (key) => (isBucket ? `https://bucket.example.com/${key}?signed` : null),
    get: async (key) => blobs.get(key) ?? null,
    list,
    delete: async (key) => void blobs.delete(key),
    deletePrefix: async (prefix) => {
      const keys = await list(prefix);
      for (const key of keys) blobs.delete(key);
      return keys.length;
    },
  };
}
