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
import type { LocalModels } from '#config/local-models.ts';
import type { PlatformModels } from '#config/platform-models.ts';
import type { Tracing } from '#config/tracing.ts';
import type { Blobs } from '#media/blobs/blobs.ts';
import type { ModelDownloads } from '#media/speech/models/model-downloads.ts';
import type { SpeechPool } from '#media/speech/pool/speech-pool.ts';
import type { Carrier } from '#telephony/carriers/carrier.ts';
import type { BackgroundContext } from './background/background-loop.ts';
import type { FirstAttempts } from './background/first-attempts.ts';
import type { WorkSignals } from './background/work-signals.ts';
import type { Dispatch } from './dispatch.ts';
import type { HeldPieces } from './held-pieces.ts';
import type { KeyWatch } from './http/key-watch.ts';
import type { Ledger } from './ledger.ts';
import type { AccountTurns } from './limits/account-turns.ts';
import type { Refusals } from './limits/refusals.ts';
import type { Metrics } from './metrics.ts';
import type { PublicAddress } from './public-address.ts';
import type { Rooms } from './rooms.ts';
import type { DataKeys, SecretBox } from './secrets/secret-box.ts';
import type { Coordination } from './store/coordination.ts';
import type { Database } from './store/database.ts';
import type { Models } from './store/models.ts';
import type { ReadCaches } from './store/read-cache.ts';
import type { ReportedSessions } from './store/reported-sessions.ts';
import type { SignallingReports } from './store/signalling-reports.ts';

/** Shared dependencies of the control plane. */
export interface Context {
  readonly settings: Settings;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly database: Pick<Database, 'ping' | 'requestWait' | 'copyTo' | 'scrub'>;
  readonly models: Models;
  /** Caches of frequent reads; without effect unless this process is the only writer. */
  readonly caches: ReadCaches;
  readonly coordination: Coordination;
  /** Ends long connections with their keys. */
  readonly keyWatch: KeyWatch;
  readonly secretBox: SecretBox;
  /** Per-session encryption keys. */
  readonly dataKeys: DataKeys;
  /** Storage of recordings and flight logs. */
  readonly blobs: Blobs;
  /** Pieces of them that wait for their object. */
  readonly held: HeldPieces;
  readonly ledger: Ledger;
  /** The last reports of signalling servers: which workers they hear. */
  readonly signallingReports: SignallingReports;
  /** Notifies other parts of this process that there may be work. */
  readonly workSignals: WorkSignals;
  /** See `BackgroundContext`. */
  readonly storeWrites?: BackgroundContext['storeWrites'];
  readonly firstAttempts: FirstAttempts;
  /** Sessions whose next report finds them here. */
  readonly reported: ReportedSessions;
  readonly dispatch: Dispatch;
  /** Checks and connects to tenant-supplied endpoints. */
  readonly egress: EgressGuard;
  /** Models that can be configured in this deployment. */
  readonly platform: PlatformModels;
  /** Language models of servers on this machine; part of `platform`. */
  readonly localModels: LocalModels;
  /** LiveKit rooms for web sessions; null when clients connect to the workers directly. */
  readonly rooms: Rooms | null;
  /** Synthesis and recognition threads for the speech APIs. */
  readonly speech: SpeechPool;
  /** Downloads of models for local speech. */
  readonly speechModels: ModelDownloads;
  /** Searches, buys and releases phone numbers. */
  readonly carrier: Carrier;
  readonly metrics: Metrics;
  /** Null when tracing is off. */
  readonly tracing: Tracing | null;
  /** Fair scheduling of requests between accounts. */
  readonly turns: AccountTurns;
  readonly refusals: Refusals;
  /**
   * Records what this process is starting to do; the supervisor reads it if it kills the process for hanging.
   */
  noteActivity(what: string): void;
  readonly publicAddress: PublicAddress;
  /** An agent's line for an answer that failed, in this language. */
  troubleLine(language: string): string;
}

/** A new opaque id: 32 hexadecimal characters. */
export function newId(): string {
  return randomBytes(16).toString('hex');
}

/** Wall time as a `Date`, for stored timestamps. */
export function now(context: Pick<Context, 'clock'>): Date {
  return new Date(context.clock.wallTime());
}
