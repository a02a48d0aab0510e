/**
 * A registration between its rounds: when the next one is due, and what is known of the registrar (RFC 3261
 * §10.2.4, RFC 5626 §4.5). Pure, and stored as it is: any replica of the control plane goes on with it.
 */
import type { Purpose, RoundFailure, RoundOutcome } from './registration-round.ts';

/** `retrying`: the last attempt failed, another follows soon; `refused`: another follows within the hour. */
export type RegistrationStatus = 'registering' | 'registered' | 'retrying' | 'refused';

/** All times are wall times in ms. */
export interface RegistrationState {
  readonly status: RegistrationStatus;
  readonly dueMs: number;
  /** When to register again; null: at once. */
  readonly refreshMs: number | null;
  /** Null if it never was registered, or has been removed. */
  readonly registeredUntilMs: number | null;
  /** In a row. */
  readonly failures: number;
  readonly hasSucceeded: boolean;
  /** The interval demanded by a 423; null without one. */
  readonly raisedSeconds: number | null;
  /** Address for our Contact in place of signalling's own, `host:port`; null: its own. */
  readonly contactPlace: string | null;
  /** Changes of that address in a row. */
  readonly placeChanges: number;
  /** Where the registrar sees our requests come from. */
  readonly source: string | null;
  /** URI of the registrar's server that has accepted the account: the others may not know it. */
  readonly hop: string | null;
  /** SIP server that sent the last request. */
  readonly server: string | null;
  /** The Contact as registered. */
  readonly contact: string | null;
  /** Address of the registrar's server that has accepted the account: it has proved that it knows it. */
  readonly address: string | null;
  /** Addresses of all its servers, as DNS names them: their owner may name any. */
  readonly addresses: readonly string[];
  readonly serviceRoute: readonly string[];
  readonly flowTimerSeconds: number | null;
  /** The last ping got no answer. `unanswering`: although the registrar is there. */
  readonly pings: 'answered' | 'doubted' | 'unanswering';
  readonly error: { readonly text: string; readonly status: number | null; readonly atMs: number } | null;
}

/** Facts of the round that signalling knows. */
export interface SentBy {
  readonly server: string;
  /** URI of the registrar's server that answered. */
  readonly hop: string;
  readonly contact: string | null;
  /** Where the request that was answered had gone. */
  readonly address: string;
  /** Of the registrar's servers. */
  readonly addresses: readonly string[];
  readonly transport: string;
}

/** Time, chance and settings. */
export interface Planning {
  readonly nowMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** 0: no pings. */
  readonly keepAliveSeconds: number;
}

/** RFC 5626 §4.5, in seconds. */
const BACKOFF_SECONDS = 30;
const MAX_BACKOFF_SECONDS = 1_800;
const REFUSED_SECONDS = 3_600;
/** After so many refusals in a row, a registrar that has accepted the account before means it. */
const PATIENCE = 3;
const MIN_WAIT_SECONDS = 5;
const MAX_RETRY_AFTER_SECONDS = 3_600;
const UNSENT_SECONDS = 2;
const MAX_PLACE_CHANGES = 3;
const MAX_ADDRESSES = 16;

/** A registration that is to begin now. */
export function newRegistration(nowMs: number): RegistrationState {
  return {
    status: 'registering',
    dueMs: nowMs,
    refreshMs: null,
    registeredUntilMs: null,
    failures: 0,
    hasSucceeded: false,
    raisedSeconds: null,
    contactPlace: null,
    placeChanges: 0,
    source: null,
    hop: null,
    server: null,
    contact: null,
    address: null,
    addresses: [],
    serviceRoute: [],
    flowTimerSeconds: null,
    pings: 'answered',
    error: null,
  };
}

/** The settings have changed: registers anew with what is known. */
export function renewed(state: RegistrationState, nowMs: number): RegistrationState {
  return {
    ...newRegistration(nowMs),
    registeredUntilMs: state.registeredUntilMs,
    contactPlace: state.contactPlace,
    server: state.server,
    address: state.address,
    addresses: state.addresses,
  };
}

/** The purpose of the next round. */
export function purposeOf(state: RegistrationState, nowMs: number): Purpose {
  const isFresh = state.status === 'registered' && state.refreshMs !== null && nowMs < state.refreshMs;
  return isFresh ? 'ping' : 'register';
}

/** The state after a round. */
export function afterRound(
  state: RegistrationState,
  outcome: RoundOutcome,
  { sent, planning }: { readonly sent: SentBy | null; readonly planning: Planning },
): RegistrationState {
  switch (outcome.is) {
    case 'registered':
      return afterRegistered(state, outcome, { sent, planning });
    case 'answered':
      return afterPing(state, outcome, { sent, planning });
    case 'unregistered':
      return { ...state, status: 'registering', registeredUntilMs: null, refreshMs: null, contact: null };
    case 'unsent':
      return {
        ...state,
        dueMs: planning.nowMs + UNSENT_SECONDS * 1_000 * (1 + planning.random()),
        error: {
          text: 'No worker is connected to a SIP server',
          status: null,
          atMs: planning.nowMs,
        },
      };
    default:
      return afterFailure(state, outcome, planning);
  }
}

/** A ping was not answered, or could not be sent. */
export function afterLostPing(state: RegistrationState, planning: Planning): RegistrationState {
  const { nowMs } = planning;
  // Once it may be the registrar that is gone, and has forgotten us; twice it is one that ignores OPTIONS.
  if (state.pings === 'answered') return { ...state, pings: 'doubted', refreshMs: nowMs, dueMs: nowMs };
  // They still keep the way through a NAT open.
  return { ...state, pings: 'unanswering', dueMs: nextDue(state, planning) };
}

type Sent = { readonly sent: SentBy | null; readonly planning: Planning };

function afterRegistered(
  state: RegistrationState,
  { answer, grantedSeconds, askedSeconds }: Extract<RoundOutcome, { is: 'registered' }>,
  { sent, planning }: Sent,
): RegistrationState {
  const { nowMs, random } = planning;
  // Half the interval, or a little less, so that many accounts do not come at once.
  const refreshMs = nowMs + Math.max(MIN_WAIT_SECONDS, grantedSeconds * (0.5 - 0.1 * random())) * 1_000;
  const next: RegistrationState = {
    ...state,
    status: 'registered',
    refreshMs,
    dueMs: refreshMs,
    registeredUntilMs: nowMs + grantedSeconds * 1_000,
    failures: 0,
    hasSucceeded: true,
    raisedSeconds: askedSeconds,
    source: answer.source,
    hop: sent?.hop ?? null,
    server: sent?.server ?? null,
    contact: sent?.contact ?? null,
    address: sent?.address ?? null,
    addresses: [...new Set(sent?.addresses ?? [])].slice(0, MAX_ADDRESSES),
    serviceRoute: answer.serviceRoute,
    flowTimerSeconds: answer.flowTimerSeconds,
    error: null,
  };
  // Over a connection the address that is seen has a port of that connection only.
  const isElsewhere = sent?.transport === 'udp' && answer.observed !== state.contactPlace;
  if (!isElsewhere) return { ...next, placeChanges: 0, dueMs: nextDue(next, planning) };
  const placeChanges = state.placeChanges + 1;
  const moved = { ...next, contactPlace: answer.observed, placeChanges };
  // A way that changes with each request is left to the next refresh.
  if (placeChanges > MAX_PLACE_CHANGES) return { ...moved, dueMs: nextDue(moved, planning) };
  return { ...moved, refreshMs: nowMs, dueMs: nowMs };
}

/** The registrar sees us elsewhere, or another server sends now: it must learn the new address. */
function afterPing(
  state: RegistrationState,
  { answer }: Extract<RoundOutcome, { is: 'answered' }>,
  { sent, planning }: Sent,
): RegistrationState {
  const isMoved =
    (sent !== null && sent.server !== state.server) ||
    (state.source !== null && answer.source !== null && answer.source !== state.source);
  const next: RegistrationState = { ...state, pings: 'answered', error: null };
  if (isMoved) return { ...next, refreshMs: planning.nowMs, dueMs: planning.nowMs };
  return { ...next, dueMs: nextDue(next, planning) };
}

function nextDue(state: RegistrationState, { nowMs, random, keepAliveSeconds }: Planning): number {
  const { flowTimerSeconds, refreshMs } = state;
  const wanted = [keepAliveSeconds, flowTimerSeconds ?? 0].filter((seconds) => seconds > 0);
  const refresh = refreshMs ?? nowMs;
  if (wanted.length === 0) return refresh;
  // Between 80 and 100 % of the interval (RFC 5626 §4.4.1).
  const seconds = Math.max(MIN_WAIT_SECONDS, Math.min(...wanted) * (0.8 + 0.2 * random()));
  return Math.min(refresh, nowMs + seconds * 1_000);
}

function afterFailure(
  state: RegistrationState,
  failure: RoundFailure,
  planning: Planning,
): RegistrationState {
  const { nowMs } = planning;
  const failures = state.failures + 1;
  const isFinal = failure.is === 'refused' && (!state.hasSucceeded || failures >= PATIENCE);
  return {
    ...state,
    status: failure.is === 'refused' ? 'refused' : 'retrying',
    failures,
    dueMs: nowMs + waitSeconds(state, { failure, failures, isFinal }, planning) * 1_000,
    refreshMs: null,
    error: { text: failure.text, status: failure.status, atMs: nowMs },
  };
}

function waitSeconds(
  { registeredUntilMs }: RegistrationState,
  of: { readonly failure: RoundFailure; readonly failures: number; readonly isFinal: boolean },
  { nowMs, random }: Planning,
): number {
  const { retryAfterSeconds } = of.failure;
  if (retryAfterSeconds !== null) {
    const asked = Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(MIN_WAIT_SECONDS, retryAfterSeconds));
    // Not all accounts in the same second.
    return asked * (1 + 0.1 * random());
  }
  if (of.isFinal) return REFUSED_SECONDS * (0.9 + 0.1 * random());
  const upper = Math.min(MAX_BACKOFF_SECONDS, BACKOFF_SECONDS * 2 ** Math.min(of.failures, 16));
  const wait = upper * (0.5 + 0.5 * random());
  // Before the registration runs out, if it has not yet.
  const left = ((registeredUntilMs ?? nowMs) - nowMs) / 1_000;
  return left > 0 ? Math.min(wait, Math.max(MIN_WAIT_SECONDS, left / 2)) : wait;
}
