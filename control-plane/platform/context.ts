/**
 * `Context`: the dependencies of every route and use case in the control plane, as interfaces implemented
 * elsewhere. `processes/control-plane.ts` builds it once; tests build their own.
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
import type { PublicAddress } from './public-address.ts';
import type { Rooms } from './rooms.ts';
import type { DataKeys, SecretBox } from './secrets/secret-box.ts';
import type { Coordination } from './store/coordination.ts';
import type { Database } from './store/database.ts';
import type { Models } from './store/models.ts';
import type { ReadMemories } from './store/read-memory.ts';

/** Kinds of ledger entries. */
export type LedgerKind = 'top_up' | 'hold' | 'settle' | 'refund' | 'void' | 'adjust';

/** One entry of a user's ledger; amounts are integer micro-dollars. */
export interface LedgerEntry {
  readonly userId: string;
  /** Sequence number per user, starting at 1. */
  readonly seq: number;
  /** Identifies what the entry pays for; unique per user, so posting twice yields the same entry. */
  readonly key: string;
  readonly kind: LedgerKind;
  readonly amountMicros: number;
  readonly balanceMicros: number;
  readonly cumulativeTopUpMicros: number;
  readonly at: Date;
}

/** A ledger entry that is inconsistent with the preceding ones. */
export interface LedgerFlaw {
  readonly userId: string;
  readonly seq: number;
  readonly problem: string;
}

/** An entry to post. */
export interface Posting {
  readonly userId: string;
  readonly key: string;
  readonly kind: LedgerKind;
  /** Negative amounts debit the wallet. */
  readonly amountMicros: number;
  /** Minimum balance after the posting; no minimum when absent. */
  readonly floorMicros?: number;
}

/** The wallets: an append-only ledger in which every decision is a single insert. */
export interface Ledger {
  /**
   * Posts an entry, or returns the existing entry with this key, whatever its kind and amount. Throws
   * `Fault('out_of_credit')` if the balance would fall below the floor.
   */
  post(posting: Posting): Promise<LedgerEntry>;
  /** A user's first and newest entries; null if the user has none. */
  wallet(userId: string): Promise<{ readonly first: LedgerEntry; readonly newest: LedgerEntry } | null>;
  /** Verifies a user's whole ledger: null if it is consistent, otherwise the first inconsistent entry. */
  verify(userId: string): Promise<LedgerFlaw | null>;
}

/** Shared dependencies of the control plane. */
export interface Context {
  readonly settings: Settings;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly database: Pick<Database, 'ping' | 'copyTo' | 'scrub'>;
  readonly models: Models;
  /** Caches of frequent reads, used only where that is safe. */
  readonly remembered: ReadMemories;
  readonly coordination: Coordination;
  readonly secretBox: SecretBox;
  /** Per-session encryption keys. */
  readonly dataKeys: DataKeys;
  /** Storage of recordings and flight logs. */
  readonly blobs: Blobs;
  readonly ledger: Ledger;
  /** Notifies other parts of this process that there may be work. */
  readonly workSignals: WorkSignals;
  readonly dispatch: Dispatch;
  /** Checks and connects to tenant-supplied endpoints. */
  readonly egress: EgressGuard;
  /** Models that can be configured in this deployment. */
  readonly platform: PlatformModels;
  /** LiveKit rooms for web sessions; null when clients connect to the workers directly. */
  readonly rooms: Rooms | null;
  /** Synthesis and recognition threads for the speech APIs. */
  readonly speech: SpeechPool;
  /** Searches, buys and releases phone numbers. */
  readonly carrier: Carrier;
  readonly metrics: Metrics;
  /** Null when tracing is off. */
  readonly tracing: Tracing | null;
  /** Fair scheduling of requests between accounts. */
  readonly turns: Turns;
  readonly refusals: Refusals;
  /**
   * Records what this process is starting to do; the supervisor reads it if it kills the process for hanging.
   */
  doing(what: string): void;
  readonly publicAddress: PublicAddress;
}

/** A new opaque id: 32 hexadecimal characters. */
export function newId(): string {
  return randomBytes(16).toString('hex');
}

/** Wall time as a `Date`, for stored timestamps. */
export function now(context: Pick<Context, 'clock'>): Date {
  return new Date(context.clock.wallTime());
}
