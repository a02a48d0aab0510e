/**
 * `Context`: what every route and use case of the control plane is handed, as interfaces that other files
 * implement. Built once by `processes/control-plane.ts`; a test builds its own.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import type { Credentials } from '#config/credentials.ts';
import type { Settings } from '#config/env.ts';
import type { PlatformModels } from '#config/platform-models.ts';
import type { Tracing } from '#config/tracing.ts';
import type { Blobs } from '#media/blobs/blobs.ts';
import type { SpeechPool } from '#media/speech/pool/speech-pool.ts';
import type { Carrier } from '#telephony/carriers/carrier.ts';
import type { WorkSignals } from './background/work-signals.ts';
import type { Dispatch } from './dispatch.ts';
import type { Refusals } from './limits/refusals.ts';
import type { Turns } from './limits/turns.ts';
import type { Metrics } from './metrics.ts';
import type { Rooms } from './rooms.ts';
import type { DataKeys, SecretBox } from './secrets/secret-box.ts';
import type { Coordination } from './store/coordination.ts';
import type { Database } from './store/database.ts';
import type { Models } from './store/models.ts';
import type { ReadMemories } from './store/read-memory.ts';

/** Kinds of wallet entries. */
export type LedgerKind = 'top_up' | 'hold' | 'settle' | 'refund' | 'void' | 'adjust';

/** One entry of a user's ledger; amounts are integer micro-dollars. */
export interface LedgerEntry {
  readonly userId: string;
  /** Counts from 1 per user. */
  readonly seq: number;
  /** Names what the entry pays for; unique per user, so that a repeated posting is the same entry. */
  readonly key: string;
  readonly kind: LedgerKind;
  readonly amountMicros: number;
  readonly balanceMicros: number;
  readonly cumulativeTopUpMicros: number;
  readonly at: Date;
}

/** An entry of a ledger that does not follow from the ones before it. */
export interface LedgerFlaw {
  readonly userId: string;
  readonly seq: number;
  readonly problem: string;
}

/** What is to be posted. */
export interface Posting {
  readonly userId: string;
  readonly key: string;
  readonly kind: LedgerKind;
  /** Negative takes credit. */
  readonly amountMicros: number;
  /** The balance may not fall below it; absent means no floor. */
  readonly floorMicros?: number;
}

/** The wallets: an append-only ledger whose one insert decides everything. */
export interface Ledger {
  /**
   * Posts an entry, or returns the one already posted under this key whatever its kind and amount. Throws
   * `Fault('out_of_credit')` at the floor.
   */
  post(posting: Posting): Promise<LedgerEntry>;
  /** First and newest entry of a user; null for a user that never had any. */
  wallet(userId: string): Promise<{ readonly first: LedgerEntry; readonly newest: LedgerEntry } | null>;
  /** Reads a user's whole ledger: null when it adds up, else the first entry that does not. */
  verify(userId: string): Promise<LedgerFlaw | null>;
}

/** Everything the control plane's parts work with. */
export interface Context {
  readonly settings: Settings;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly database: Pick<Database, 'ping' | 'copyTo' | 'scrub'>;
  readonly models: Models;
  /** What is read again and again, remembered where that is safe. */
  readonly remembered: ReadMemories;
  readonly coordination: Coordination;
  readonly secretBox: SecretBox;
  /** The key of each session's own data. */
  readonly dataKeys: DataKeys;
  /** Where recordings and flight logs lie. */
  readonly blobs: Blobs;
  readonly ledger: Ledger;
  /** Tells the parts of this process that there may be work. */
  readonly workSignals: WorkSignals;
  readonly dispatch: Dispatch;
  /** Checks and reaches what tenants make us connect to. */
  readonly egress: EgressGuard;
  /** What may be configured in this deployment. */
  readonly platform: PlatformModels;
  /** The LiveKit rooms of web sessions; null when they are connected to directly. */
  readonly rooms: Rooms | null;
  /** The threads that speak and listen for the speech APIs. */
  readonly speech: SpeechPool;
  /** Where numbers are searched, bought and released. */
  readonly carrier: Carrier;
  readonly metrics: Metrics;
  /** Null where nothing is traced. */
  readonly tracing: Tracing | null;
  /** Whose requests are worked on. */
  readonly turns: Turns;
  readonly refusals: Refusals;
  /** Says what this process begins to do, for whoever has to kill it while it stands still. */
  doing(what: string): void;
  /** Base of links; known once the server listens. */
  publicUrl(): string;
}

/** A new opaque id: 32 hexadecimal characters. */
export function newId(): string {
  return randomBytes(16).toString('hex');
}

/** Wall time as a `Date`, for what is stored. */
export function now(context: Pick<Context, 'clock'>): Date {
  return new Date(context.clock.wallTime());
}
