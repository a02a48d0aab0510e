/**
 * Seeded defects of the fleet: each is a plausible fault of the code that runs in the simulation, written as
 * a patch of one file; the simulation must find them all.
 */
import type { Defect } from '../simulation/defects.ts';

const WORKERS = 'control-plane/calls/workers';
const SETTLEMENT = 'control-plane/calls/settlement';

/** All seeded defects; their files are relative to the repository. */
export const FLEET_DEFECTS: readonly Defect[] = [
  {
    name: 'silence-is-doubt',
    breaks: 'a replica that hears nothing over Redis doubts the calls of the others',
    file: `${WORKERS}/watch-links.ts`,
    find: '!seen.has(id) && !dispatch.isConnected(id)',
    replace: '!dispatch.isConnected(id)',
  },
  {
    name: 'lost-link-is-death',
    breaks: 'a call is given to a second agent while the first one talks',
    file: `${WORKERS}/worker-hub.ts`,
    find: 'others.mayExist) return;',
    replace: 'false) return;\n    this.#runInOrder(instanceId, () => this.#settleDead(instanceId));',
  },
  {
    name: 'acknowledged-unstored',
    breaks: 'a report that could not be stored is acknowledged and lost',
    file: `${WORKERS}/store-reports.ts`,
    find: 'const types = envelopes.map(({ report }) => report.type);',
    replace:
      "worker.send({ type: 'ack', session_id, epoch, seq: envelopes.at(-1)?.seq ?? 0 });\n    " +
      'const types = envelopes.map(({ report }) => report.type);',
  },
  {
    name: 'any-epoch',
    breaks: 'a dead worker’s late reports change a call that another one has',
    file: `${SETTLEMENT}/settle-call.ts`,
    find:
      "if (session.epoch > epoch) return { outcome: 'stale', isTaken: true };\n  " +
      "if (session.epoch !== epoch) return { outcome: 'stale' };",
    replace: '',
  },
  {
    name: 'counted-twice',
    breaks: 'a repeated report is stored again',
    file: 'control-plane/calls/sessions/session-store.ts',
    find: '{ push }), last_seq: lastSeq };',
    replace: '{ push }) };',
  },
  {
    name: 'hold-kept',
    breaks: 'the first minute is charged twice',
    file: 'control-plane/calls/sessions/session-machine.ts',
    find: 'billing: dueBilling(session.billing, event.at, session.billing.hold - cost),',
    replace: 'billing: dueBilling(session.billing, event.at, -cost),',
  },
  {
    name: 'workers-unlisted',
    breaks: 'replicas see only over Redis which workers the others have',
    file: 'control-plane/platform/store/replica-register.ts',
    find: 'const workers = self.isShared ? self.workers() : [];',
    replace: 'const workers: string[] = [];',
  },
  {
    name: 'settlement-not-repeated',
    breaks: 'a charge that failed once is never made',
    file: `${SETTLEMENT}/sweep.ts`,
    find: "'billing.state': 'settle_due',",
    replace: "'billing.state': 'never',",
  },
  {
    name: 'event-not-repeated',
    breaks: 'an event whose hand-over failed is never sent',
    file: `${SETTLEMENT}/sweep.ts`,
    find: "find(context, { ...dueIn('outbox'), 'outbox.at': { $lte: before } })",
    replace: "find(context, { 'outbox.at': null, _id: null })",
  },
  {
    name: 'creation-not-undone',
    breaks: 'a call whose creation was cut short keeps its charge',
    file: `${SETTLEMENT}/sweep.ts`,
    find: "findLive(context, { status: 'creating', status_at: { $lte: before } })",
    replace: "find(context, { status: 'never' })",
  },
  {
    name: 'never-given-up',
    breaks: 'the calls of a lost machine stay open for ever',
    file: `${SETTLEMENT}/sweep.ts`,
    find: 'for (const session of unseen) await giveUpUnknown(context, session);',
    replace: '',
  },
  {
    name: 'charged-while-lost',
    breaks: 'the caller pays for the time after the machine was lost',
    file: `${SETTLEMENT}/worker-presence.ts`,
    find: "type: 'unknown.expired', since, at: servedUntil(session, since)",
    replace: "type: 'unknown.expired', since, at: now(context)",
  },
  {
    name: 'doubted-from-the-start',
    breaks: 'a doubted call is charged only until it became active',
    file: `${SETTLEMENT}/worker-presence.ts`,
    find: 'Math.max(at.getTime(), activeAt.getTime())',
    replace: 'activeAt.getTime()',
  },
  {
    name: 'charged-until-joined',
    breaks: 'a call whose worker died is charged only until it became active',
    file: 'control-plane/calls/sessions/served-until.ts',
    find: "if (status === 'unknown') times.push(doubtedAt);",
    replace: 'times.push(doubtedAt);',
  },
  {
    name: 'not-sent-again',
    breaks: 'a report whose answer was lost keeps its call open',
    file: 'runtime/link/control-plane-client.ts',
    find: 'this.#sendAll(this.#stuck());',
    replace: '',
  },
  {
    name: 'died-when-read',
    breaks: 'the caller pays until the machine is back and the spool of its worker is read',
    file: `${WORKERS}/worker-hub.ts`,
    find: 'aliveAt === undefined ? null : new Date(Math.min(Date.parse(aliveAt), nowMs));',
    replace: 'null;',
  },
  {
    name: 'one-witness-is-enough',
    breaks: 'a worker that has lost signalling, and nothing else, loses its calls',
    file: `${WORKERS}/death-evidence.ts`,
    find: 'if (nowMs - heardMs < DEATH_MS) return null;',
    replace: '',
  },
  {
    name: 'deaths-unwatched',
    breaks: 'the calls of a lost machine wait although signalling has noticed its loss',
    file: `${WORKERS}/death-evidence.ts`,
    find: 'return [...suspects].flatMap((id) => this.#verdict(id) ?? []);',
    replace: 'return suspects.size > 0 ? [] : [];',
  },
  {
    name: 'long-lease',
    breaks: 'a worker that nobody hears speaks on when another one has its calls',
    file: 'runtime/link/speaking-lease.ts',
    find: 'Math.min(...this.#heardMs.values())) + SPEAKING_LEASE_MS;',
    replace: 'Math.min(...this.#heardMs.values())) + 60_000;',
  },
  {
    name: 'silent-for-ever',
    breaks: 'a worker that was cut off stays silent when it is connected again',
    file: 'runtime/link/control-plane-client.ts',
    find: 'this.#deps.lease?.confirm(this.#registration);',
    replace: '',
  },
  {
    name: 'leased-for-ever',
    breaks: 'a webhook whose control plane died while it sent it is never sent again',
    file: 'control-plane/calls/webhooks/deliver.ts',
    find: 'const LEASE_MS = LIMITS.webhookAttemptMs + 10_000;',
    replace: 'const LEASE_MS = LIMITS.webhookAttemptMs + 86_400_000;',
  },
  {
    name: 'one-attempt',
    breaks: 'a webhook that was refused once is dropped',
    file: 'control-plane/calls/webhooks/deliver.ts',
    find: 'delivery.attempts >= LIMITS.webhookAttempts;',
    replace: 'delivery.attempts >= 1;',
  },
  {
    name: 'busy-sweeper',
    breaks: 'an idle fleet loads its database',
    file: `${SETTLEMENT}/sweep.ts`,
    find: 'const TICK_MS = 2_000;',
    replace: 'const TICK_MS = 500;',
  },
];
