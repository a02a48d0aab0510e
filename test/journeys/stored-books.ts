/**
 * Reads the database that a product left behind and checks internal state: every ledger entry, every charge
 * of a session, every delivery.
 */
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { perMinute } from '#base/money.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import { openDatabase } from '#control-plane/platform/store/database.ts';
import type { LedgerDocument } from '#control-plane/platform/store/models/ledger-model.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { defineModels, type Models } from '#control-plane/platform/store/models.ts';

/** Describes the errors in the books of a stopped product; empty if they are correct. */
export async function findFlaws(dataDir: string): Promise<string[]> {
  const database = await openDatabase({
    mongodbUrl: undefined,
    dataDir,
    clock: systemClock,
    logger: createLogger({ level: 'silent', name: 'books' }),
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    const models = defineModels(database.connection);
    return [
      ...(await walletFlaws(models)),
      ...(await sessionFlaws(models)),
      ...(await deliveryFlaws(models)),
    ];
  } finally {
    await database.close();
  }
}

async function walletFlaws(models: Models): Promise<string[]> {
  const ledger = createLedger({ entries: models.ledger, clock: systemClock });
  const users = await models.users.find({}, { _id: 1 }).lean();
  const flaws = await Promise.all(users.map(({ _id }) => ledger.verify(_id)));
  return flaws.flatMap((flaw) => (flaw ? [`wallet ${flaw.userId}, entry ${flaw.seq}: ${flaw.problem}`] : []));
}

async function sessionFlaws(models: Models): Promise<string[]> {
  const sessions = await models.sessions.find({}).lean();
  const entries = await models.ledger.find({ key: /^s:/ }).lean();
  const known = new Set(sessions.map(({ _id }) => _id));
  const strays = entries
    .filter(({ key }) => !known.has(key.split(':')[1] ?? ''))
    .map(({ key }) => `the ledger has ${key} of a session that is not there`);
  const flaws = sessions.flatMap((session) => {
    const name = `session ${session._id} (${session.status}, ${session.end_reason})`;
    const ofSession = entries.filter(({ key }) => key.startsWith(`s:${session._id}:`));
    return [...stateFlaws(session), ...chargeFlaws(session, ofSession)].map((flaw) => `${name} ${flaw}`);
  });
  return [...strays, ...flaws];
}

/** The session has ended, is settled, and has an empty outbox. */
function stateFlaws({ status, billing, outbox }: SessionDocument): string[] {
  return [
    ...(status === 'completed' || status === 'failed' ? [] : ['is not over']),
    ...(billing.state === 'settled' ? [] : [`has its billing ${billing.state}`]),
    ...(outbox.length === 0 ? [] : ['still has unsent events']),
  ];
}

/** The session was charged once, settled at most once, and debited exactly its cost. */
function chargeFlaws(
  { status, billing, duration_seconds }: SessionDocument,
  entries: readonly LedgerDocument[],
): string[] {
  const holds = entries.filter(({ key }) => key.endsWith(':hold')).length;
  const settles = entries.filter(({ key }) => key.endsWith(':settle')).length;
  const cost = status === 'completed' ? perMinute(billing.price_per_minute, duration_seconds ?? 0) : 0;
  const taken = -entries.reduce((sum, { amount }) => sum + amount, 0);
  return [
    ...(holds === 1 && settles <= 1 ? [] : [`was charged ${holds} times and settled ${settles} times`]),
    ...(taken === cost ? [] : [`took ${taken} from the wallet and cost ${cost}`]),
  ];
}

async function deliveryFlaws(models: Models): Promise<string[]> {
  const undelivered = await models.deliveries
    .find({ event: 'call.ended', state: { $ne: 'delivered' } })
    .lean();
  return undelivered.map(
    ({ _id, state, attempts, last_result }) =>
      `delivery ${_id} is ${state} after ${attempts} attempts (${last_result})`,
  );
}
