/** What must hold in every simulated fleet, whatever happens to it. */
import { perMinute } from '#base/money.ts';
import { LIMITS } from '#config/limits.ts';
import type { DeliveryDocument } from '#control-plane/platform/store/models/delivery-model.ts';
import type { LedgerDocument } from '#control-plane/platform/store/models/ledger-model.ts';
import { type SessionDocument, toBuffer } from '#control-plane/platform/store/models/session-model.ts';
import { isLive } from '#control-plane/platform/store/session-status.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { Caller } from './caller.ts';
import { DATA_KEYS } from './control-plane-process.ts';
import type { Fields } from './store-engine.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';

/**
 * Longest a charge may exceed the time in which a worker held the caller's line: two looks of the watch over
 * links, and clocks that differ and jump.
 */
const OVERCHARGE_SECONDS = 15;
/**
 * Longest a charge may fall short of the time in which a control plane heard the worker that held the line: a
 * worker is listed every second if it was heard within 2.5 s, and clocks differ and jump.
 */
const UNDERCHARGE_SECONDS = 10;

/** What the workers sent, and what they were told is stored: by `<session>:<epoch>`. */
export interface Reports {
  readonly sent: ReadonlyMap<string, readonly DurableReport[]>;
  readonly acknowledged: ReadonlyMap<string, number>;
}

/** Checks the database at the end of a run, when every call should be over. */
export function finalViolations(
  read: (collection: string) => readonly Fields[],
  callers: readonly Caller[],
  { reports, endpoint }: { readonly reports: Reports; readonly endpoint: WebhookEndpoint },
): string[] {
  const sessions = read('sessions') as unknown as SessionDocument[];
  const ledger = read('wallet_ledger') as unknown as LedgerDocument[];
  const deliveries = read('webhook_deliveries') as unknown as DeliveryDocument[];
  return [
    ...[...Map.groupBy(ledger, (entry) => entry.user_id).values()].flatMap(chainViolations),
    ...sessions.flatMap((session) => [
      ...openViolations(session),
      ...chargeViolations(session, ledger),
      ...eventViolations(session, deliveries, endpoint),
      ...durationViolations(session, callers),
    ]),
    ...reportViolations(sessions, reports),
  ];
}

function openViolations(session: SessionDocument): string[] {
  const { _id, status, billing, outbox } = session;
  const open: string[] = [];
  if (isLive(status) || status === 'creating') open.push(`${_id} is still ${status} at the end`);
  else if (billing.state !== 'settled' && billing.state !== 'free')
    open.push(`${_id} is ${status}, but its billing is ${billing.state}`);
  if (outbox.length > 0) open.push(`${_id} has events that were not handed over`);
  return open;
}

/** Every call settled once, for what it cost. */
function chargeViolations(session: SessionDocument, ledger: readonly LedgerDocument[]): string[] {
  const entries = ledger.filter(({ key }) => key.startsWith(`s:${session._id}:`));
  const kinds = entries.map(({ kind }) => kind);
  const violations: string[] = [];
  for (const kind of new Set(kinds))
    if (kinds.filter((each) => each === kind).length > 1)
      violations.push(`${session._id} has two entries ${kind}`);
  const { billing, status, duration_seconds: seconds } = session;
  if (billing.state !== 'settled') return violations;
  const cost = status === 'completed' ? perMinute(billing.price_per_minute, seconds ?? 0) : 0;
  const paid = -entries.reduce((sum, { amount }) => sum + amount, 0);
  if (paid !== cost)
    violations.push(`${session._id} cost ${cost}, but ${paid} was charged (${kinds.join()})`);
  return violations;
}

function chainViolations(ledger: readonly LedgerDocument[]): string[] {
  let balance = 0;
  for (const [index, entry] of [...ledger].sort((a, b) => a.seq - b.seq).entries()) {
    balance += entry.amount;
    if (entry.seq !== index + 1 || entry.balance !== balance)
      return [`the ledger does not add up at entry ${entry.seq}`];
  }
  return [];
}

/** Each completed call has reached its webhook, unless that one has failed every attempt. */
function eventViolations(
  { _id, status }: SessionDocument,
  deliveries: readonly DeliveryDocument[],
  endpoint: WebhookEndpoint,
): string[] {
  if (status !== 'completed') return [];
  const delivery = deliveries.find((each) => each._id === `${_id}:call.ended:0`);
  if (!delivery) return [`${_id} is completed, but call.ended is missing`];
  const { state, attempts } = delivery;
  const isGivenUp =
    state === 'dropped' && attempts >= LIMITS.webhookAttempts && endpoint.failures(_id, 'call.ended') > 0;
  if (isGivenUp || (state === 'delivered' && endpoint.hasTaken(_id, 'call.ended'))) return [];
  return [`call.ended of ${_id} is ${state} after ${attempts} attempts`];
}

function durationViolations(session: SessionDocument, callers: readonly Caller[]): string[] {
  const caller = callers.find(({ plan }) => plan.sessionId === session._id);
  if (session.status !== 'completed' || !caller) return [];
  const { connectedMs, servedMs, provableFromMs, provenMs } = caller;
  const seconds = session.duration_seconds ?? 0;
  const served = secondsBetween(connectedMs, servedMs);
  const proven = secondsBetween(provableFromMs, provenMs);
  const charged = `${session._id} is charged for ${seconds} s, but was`;
  if (seconds > served + OVERCHARGE_SECONDS) return [`${charged} held for ${served.toFixed(0)} s`];
  return seconds < proven - UNDERCHARGE_SECONDS ? [`${charged} seen for ${proven.toFixed(0)} s`] : [];
}

function secondsBetween(fromMs: number | null, untilMs: number): number {
  return fromMs === null ? 0 : Math.max(0, untilMs - fromMs) / 1_000;
}

/** Every acknowledged report is stored, and no report twice. */
function reportViolations(sessions: readonly SessionDocument[], reports: Reports): string[] {
  const violations: string[] = [];
  const stored = new Map(sessions.map((session) => [session._id, textsOf(session)]));
  for (const [id, texts] of stored)
    if (new Set(texts).size !== texts.length) violations.push(`${id} has an item twice`);
  for (const [key, seq] of reports.acknowledged) {
    const sessionId = key.slice(0, key.lastIndexOf(':'));
    const texts = new Set(stored.get(sessionId));
    const expected = (reports.sent.get(key) ?? []).slice(0, seq).flatMap(itemTexts);
    const missing = expected.find((text) => !texts.has(text));
    if (missing !== undefined) violations.push(`${key}: an acknowledged report is not stored: ${missing}`);
  }
  return violations;
}

function itemTexts(report: DurableReport): string[] {
  return report.type === 'items' ? report.items.flatMap(contentOf) : [];
}

function textsOf(session: SessionDocument): string[] {
  if (!session.wrapped_key) return [];
  const sealer = DATA_KEYS.open(session._id, toBuffer(session.wrapped_key));
  return session.timeline.flatMap(({ sealed }) =>
    sealed
      ? (JSON.parse(sealer.open(toBuffer(sealed), 'items').toString('utf8')) as SessionItem[]).flatMap(
          contentOf,
        )
      : [],
  );
}

function contentOf(item: SessionItem): string[] {
  return item.type === 'message' ? [item.content] : [];
}
