/**
 * Keeps the registrations of this deployment: each replica looks for those that are due and takes them one
 * by one under a lease, so that exactly one replica speaks for a registration. Between two rounds none holds
 * it, and any goes on.
 */
import { isIP } from 'node:net';
import { createSrvLookUp } from '#telephony/next-hops.ts';
import { createNaptrLookUp, registrarHops } from '#telephony/registration/registrar-hops.ts';
import {
  afterLostPing,
  afterRound,
  type Planning,
  purposeOf,
  type RegistrationState,
} from '#telephony/registration/registration-state.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import type { SipRegistrationDocument } from '../../platform/store/models/sip-registration-model.ts';
import { tenantGuard } from '../numbers/tenant-guard.ts';
import { type RanRound, type RoundDeps, runRound } from './run-round.ts';

const TICK_MS = 1_000;
const BATCH = 200;
/**
 * Rounds at once in one process, and of one team: a registrar that is silent holds its place for half a
 * minute.
 */
const MAX_ROUNDS = 100;
const MAX_ROUNDS_OF_TEAM = 20;
/** Longer than a worker's answer to one request takes. */
const LEASE_MS = 60_000;
/** A registrar that cannot be told within this time forgets a deleted registration by itself. */
const FAREWELL_MS = 120_000;
/** Before another attempt after an error of ours. */
const AFTER_ERROR_MS = 60_000;

/** How the servers of a registrar are found; tests have their own. */
export type HopsOf = RoundDeps['hopsOf'];

/** Starts the upkeep in every replica. */
export function startRegistrations(context: Context, hopsOf: HopsOf = findHops(context)): BackgroundLoop {
  const keeper = new RegistrationKeeper(context, hopsOf);
  const loop = startBackgroundLoop(
    context,
    {
      name: 'sip-registrations',
      everyMs: TICK_MS,
      chore: 'sip-registrations',
      isDone: async () => (await context.models.sipRegistrations.exists({})) === null,
      waitsFor: ['sipRegistrations'],
    },
    () => keeper.beginDue(),
  );
  return {
    ...loop,
    idle: async () => {
      await loop.idle();
      await keeper.idle();
    },
    close: async () => {
      await loop.close();
      await keeper.idle();
    },
  };
}

function findHops({ settings, egress }: Context): HopsOf {
  const lookUps = { lookUpSrv: createSrvLookUp(), lookUpNaptr: createNaptrLookUp() };
  const isIpv6 = isIP(settings.SIP_HOST) === 6;
  return (host, transport) =>
    registrarHops(
      { host, transport },
      { ...tenantGuard({ settings }), ...lookUps, egress, isIpv6, random: Math.random },
    );
}

class RegistrationKeeper {
  readonly #context: Context;
  readonly #hopsOf: HopsOf;
  readonly #holder: string;
  /** The rounds of this process, by registration. */
  readonly #running = new Map<string, { readonly teamId: string; readonly ended: Promise<void> }>();
  /** The last round had no worker: until there is one, each tick begins one round only. */
  #isMute = false;

  constructor(context: Context, hopsOf: HopsOf) {
    this.#context = context;
    this.#hopsOf = hopsOf;
    this.#holder = leaseHolder(context.settings);
  }

  /** Begins the rounds that are due, as many as there is room for. */
  async beginDue(): Promise<void> {
    const { models } = this.#context;
    const due = await models.sipRegistrations
      .find({ due_at: { $lte: now(this.#context) }, _id: { $nin: [...this.#running.keys()] } })
      .sort({ due_at: 1 })
      .limit(BATCH)
      .lean<SipRegistrationDocument[]>();
    for (const { _id: id, team_id: teamId } of due) {
      if (this.#running.size >= MAX_ROUNDS) return;
      const ofTeam = [...this.#running.values()].filter((each) => each.teamId === teamId).length;
      if (ofTeam >= MAX_ROUNDS_OF_TEAM) continue;
      const ended = this.#run(id)
        .catch((error: unknown) =>
          this.#context.logger.error({ err: error, registrationId: id }, 'a registration round failed'),
        )
        .finally(() => this.#running.delete(id));
      this.#running.set(id, { teamId, ended });
      if (this.#isMute) return;
    }
  }

  /** Resolves when no round is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  async #run(id: string): Promise<void> {
    const model = this.#context.models.sipRegistrations;
    const filter = { _id: id, due_at: { $lte: now(this.#context) } };
    const lease = { holder: this.#holder, ms: LEASE_MS };
    const registration = await takeLease(this.#context, { model, filter }, lease);
    if (!registration) return;
    try {
      await (registration.deleting_at ? this.#end(registration) : this.#goOn(registration));
    } catch (error) {
      await this.#store(registration, {
        ...registration.state,
        dueMs: this.#context.clock.wallTime() + AFTER_ERROR_MS,
      });
      throw error;
    }
  }

  async #goOn(registration: SipRegistrationDocument): Promise<void> {
    const { state } = registration;
    const purpose = purposeOf(state, this.#context.clock.wallTime());
    const ran = await runRound(this.#depsOf(registration), registration, purpose);
    if (ran === null) return;
    const { is } = ran.outcome;
    this.#isMute = is === 'unsent';
    if (purpose === 'register' && is !== 'answered' && is !== 'unregistered')
      this.#context.metrics.sipRegistrations.inc({ outcome: is });
    const next = this.#after(registration, purpose === 'ping', ran);
    this.#tell(registration, next);
    await this.#store(registration, next);
  }

  #after(
    { state, keep_alive_seconds: keepAliveSeconds }: SipRegistrationDocument,
    isPing: boolean,
    { outcome, sent }: NonNullable<RanRound>,
  ): RegistrationState {
    const planning: Planning = {
      nowMs: this.#context.clock.wallTime(),
      random: Math.random,
      keepAliveSeconds,
    };
    const isLost = isPing && (outcome.is === 'failed' || outcome.is === 'refused');
    return isLost ? afterLostPing(state, planning) : afterRound(state, outcome, { sent, planning });
  }

  /** Tells a registrar that a deleted registration is over, if it can be told, and removes it. */
  async #end(registration: SipRegistrationDocument): Promise<void> {
    const { clock, models, logger } = this.#context;
    const isKnownThere = (registration.state.registeredUntilMs ?? 0) > clock.wallTime();
    const sinceMs = clock.wallTime() - (registration.deleting_at?.getTime() ?? 0);
    if (isKnownThere && sinceMs < FAREWELL_MS) {
      const ran = await runRound(this.#depsOf(registration), registration, 'unregister');
      if (ran === null) return;
      if (ran.outcome.is === 'unsent') {
        await this.#store(registration, this.#after(registration, false, ran));
        return;
      }
    }
    await models.sipRegistrations.deleteOne({ _id: registration._id, lease_by: this.#holder });
    logger.info({ registrationId: registration._id }, 'a registration is over');
  }

  #depsOf({ _id, rev }: SipRegistrationDocument): RoundDeps {
    const { models, clock } = this.#context;
    return {
      context: this.#context,
      hopsOf: this.#hopsOf,
      nextCseq: async () => {
        const until = new Date(clock.wallTime() + LEASE_MS);
        const kept = await models.sipRegistrations
          .findOneAndUpdate(
            { _id, rev, lease_by: this.#holder },
            { $set: { lease_until: until }, $inc: { cseq: 1 } },
            { returnDocument: 'after' },
          )
          .lean<SipRegistrationDocument>();
        return kept?.cseq ?? null;
      },
    };
  }

  /**
   * Gives the lease back with the new state; a holder who changed the registration meanwhile begins anew.
   */
  async #store({ _id, rev }: SipRegistrationDocument, state: RegistrationState): Promise<void> {
    const { models } = this.#context;
    const held = { _id, lease_by: this.#holder };
    const free = { lease_by: null, lease_until: null };
    const { matchedCount } = await models.sipRegistrations.updateOne(
      { ...held, rev },
      { $set: { ...free, state, due_at: new Date(state.dueMs) } },
    );
    if (matchedCount > 0) return;
    // The registrar has accepted it all the same: a deletion has to tell it that it is over.
    const { registeredUntilMs, server, contactPlace } = state;
    const known = {
      'state.registeredUntilMs': registeredUntilMs,
      'state.server': server,
      'state.contactPlace': contactPlace,
    };
    await models.sipRegistrations.updateOne(held, { $set: { ...free, ...known } });
  }

  #tell({ _id, state }: SipRegistrationDocument, next: RegistrationState): void {
    const { logger } = this.#context;
    if (next.status === state.status && next.error?.text === state.error?.text) return;
    const about = { registrationId: _id, state: next.status };
    if (next.status === 'registered') logger.info(about, 'registered at a PBX');
    else if (next.error) logger.warn({ ...about, reason: next.error.text }, 'not registered at a PBX');
  }
}
