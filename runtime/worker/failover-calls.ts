/**
 * Failover of a phone call: its worker died, so its dialog gets this worker's media and the conversation
 * continues. If the caller was talking with a person after a transfer, that person's dialog moves as well,
 * and the two are joined again.
 */

import type { Logger } from '#base/log.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { PhoneFailoverState, ReportedPerson } from '#protocol/worker-link.ts';
import { type FailoverCall, type FailoverCallDeps, failOverSipCall } from '#telephony/failover-call.ts';
import type { AnsweredCall } from '#telephony/sip-leg.ts';
import { dialogFacts, dialogReport, reportDialog } from '../calls/dialog-report.ts';
import { leaveForSuccessor } from '../calls/leave-for-successor.ts';
import type { JobCalls } from './job-calls.ts';
import type { Job } from './job-table.ts';
import type { TakenStreams } from './taken-streams.ts';

/** Dependencies of a failover. */
export interface FailoverDeps extends FailoverCallDeps {
  readonly calls: Pick<JobCalls, 'start' | 'report' | 'reportEnd'>;
  readonly streams: Pick<TakenStreams, 'take'>;
  readonly logger: Logger;
}

/** A person who is still on the line answers at once; the caller hears silence meanwhile. */
const PERSON_ANSWERS_MS = 3_000;

/** Continues a job's call; never rejects. A call that cannot be continued ended when its worker was lost. */
export async function failOverJob(
  deps: FailoverDeps,
  job: Job,
  plan: CallPlan,
  failoverState: PhoneFailoverState,
): Promise<void> {
  const { calls, logger, streams } = deps;
  const { former } = failoverState;
  const [caller, person] = await Promise.all([
    failOverSipCall(deps, dialogFacts(failoverState.dialog), {
      recording: plan.record_audio ? { firstSegment: 0 } : null,
      isTenants: isTenants(plan),
      wasHeard: failoverState.is_unheard !== true,
      takeStream: former && (() => streams.take(job, former)),
    }),
    reachPerson(deps, plan, failoverState),
  ]);
  // Yet another worker has the call by now.
  if (job.isTaken) {
    leave([caller, person]);
    return;
  }
  if (caller.outcome !== 'answered') {
    logger.warn(
      { err: caller.error, sessionId: job.sessionId, outcome: caller.outcome },
      'failover of a call failed',
    );
    person?.leg.send({ do: 'close' });
    const leftAs = failoverState.person?.is_joined ? 'escalated' : 'user_hangup';
    calls.reportEnd(job, caller.outcome === 'gone' ? leftAs : 'heartbeat_timeout', failoverState.lost_at);
    return;
  }
  try {
    const joined = reportSides(deps, job, { caller, person, before: failoverState.person });
    calls.start(job, plan, { ...failoverState, person: joined });
    job.call?.attach(caller.leg, caller);
    if (person) job.call?.rejoin(person.leg);
  } catch (error) {
    logger.error({ err: error, sessionId: job.sessionId }, 'call could not be continued');
    for (const side of [caller, person]) side?.leg.send({ do: 'close' });
    calls.reportEnd(job, 'internal_error');
  }
}

function leave(sides: readonly (FailoverCall | null)[]): void {
  for (const side of sides) if (side?.outcome === 'answered') leaveForSuccessor(side.leg);
}

/** Reports both dialogs, and again whenever another SIP server has them; returns the person. */
function reportSides(
  { calls }: FailoverDeps,
  job: Job,
  sides: {
    readonly caller: AnsweredCall;
    readonly person: AnsweredCall | null;
    readonly before: ReportedPerson | null;
  },
): ReportedPerson | null {
  const { caller, person, before } = sides;
  reportDialog(caller, (dialog) => calls.report(job, { type: 'dialog', ...dialog }));
  if (person)
    reportDialog(person, (dialog) =>
      calls.report(job, { type: 'person', person: { dialog, is_joined: true } }),
    );
  else if (before) calls.report(job, { type: 'person', person: null });
  return person && { dialog: dialogReport(person.dialog), is_joined: true };
}

/**
 * The person the caller was joined with. Null if there was none or they left: then the agent takes the caller
 * back and says so. A person who was only being asked is hung up on, because the agent will call them again
 * and their line must be free.
 */
async function reachPerson(
  deps: FailoverDeps,
  plan: CallPlan,
  { person }: PhoneFailoverState,
): Promise<AnsweredCall | null> {
  if (!person) return null;
  if (!person.is_joined) {
    void failOverSipCall(deps, dialogFacts(person.dialog), { recording: null, isTenants: false }).then(
      (result) => {
        if (result.outcome === 'answered') result.leg.send({ do: 'close' });
      },
    );
    return null;
  }
  const recording = plan.record_audio ? ({ firstSegment: 0, of: 'human' } as const) : null;
  const result = await failOverSipCall(deps, dialogFacts(person.dialog), {
    recording,
    isTenants: mayBeTenants(plan),
    timeoutMs: PERSON_ANSWERS_MS,
  });
  if (result.outcome === 'answered') return result;
  deps.logger.warn(
    { err: result.error, sessionId: plan.session_id, outcome: result.outcome },
    'failover of a joined person failed',
  );
  return null;
}

/** True for a call over a tenant's own trunk. */
function isTenants({ transport }: CallPlan): boolean {
  return transport.type === 'sip_outbound'
    ? transport.guard !== null
    : transport.type === 'sip_inbound' && transport.is_tenants;
}

/**
 * The person's destination was not stored, so they may be on a tenant's trunk, or at a phone that registers
 * here, if any destination is.
 */
function mayBeTenants({ transfer }: CallPlan): boolean {
  return (
    transfer?.routes.some(({ guard, phone_extension: phones }) => guard !== null || phones !== undefined) ??
    false
  );
}
