/**
 * Answers "Why was my call refused?": stores every refused call with its reason for the team. Runs in the
 * background and never fails the request.
 */
import { Fault } from '#config/errors.ts';
import { type Context, newId, now } from '../context.ts';
import type { RefusalKind } from '../store/models/refusal-model.ts';

/** Maximum refusals stored per team and minute; the metrics count all of them. */
const KEPT_PER_MINUTE = 100;
const MINUTE_MS = 60_000;
/** Numbers from external trunks can contain anything. */
const MAX_NUMBER_CHARS = 64;

/** The refused request and its team. */
export interface RefusedRequest {
  readonly kind: RefusalKind;
  readonly teamId: string;
  readonly agentId: string | null;
  readonly callerNumber?: string | null;
  readonly dialedNumber?: string | null;
  readonly sipCallId?: string | null;
}

type Parts = Pick<Context, 'models' | 'clock' | 'coordination' | 'metrics' | 'logger'>;

/** Runs an attempt; logs and rethrows a refusal. */
export async function loggingRefusals<Result>(
  context: Parts,
  attempt: RefusedRequest,
  run: () => Promise<Result>,
): Promise<Result> {
  const measured = attempt.kind === 'phone_number' ? run : () => measureAdmission(context, attempt.kind, run);
  try {
    return await measured();
  } catch (error) {
    if (error instanceof Fault) logRefusal(context, attempt, error);
    throw error;
  }
}

/** Measures how long it takes to admit or refuse a call. `isAdmitted`: false for a result that refuses. */
export async function measureAdmission<Result>(
  { clock, metrics }: Pick<Context, 'clock' | 'metrics'>,
  kind: RefusalKind,
  run: () => Promise<Result>,
  isAdmitted: (result: Result) => boolean = () => true,
): Promise<Result> {
  const startMs = clock.now();
  const observe = (outcome: string) =>
    metrics.admissions.observe({ kind, outcome }, (clock.now() - startMs) / 1000);
  try {
    const result = await run();
    observe(isAdmitted(result) ? 'admitted' : 'refused');
    return result;
  } catch (error) {
    observe(error instanceof Fault ? 'refused' : 'failed');
    throw error;
  }
}

/**
 * Logs a refusal in the background. If the answer hides the owner's reason, the underlying reason is stored.
 */
export function logRefusal(context: Parts, attempt: RefusedRequest, answered: Fault): void {
  const reason = answered.cause instanceof Fault ? answered.cause : answered;
  context.metrics.refusals.inc({ kind: attempt.kind, reason: reason.code });
  keep(context, attempt, {
    reason,
    status: attempt.kind === 'inbound_call' ? answered.sipStatus : answered.status,
  }).catch((error: unknown) =>
    context.logger.warn({ err: error, reason: reason.code }, 'failed to store a refusal'),
  );
}

async function keep(
  context: Parts,
  attempt: RefusedRequest,
  refusal: { readonly reason: Fault; readonly status: number },
): Promise<void> {
  const { allowed } = await context.coordination.countInWindow(
    `refusals:${attempt.teamId}`,
    KEPT_PER_MINUTE,
    MINUTE_MS,
  );
  if (!allowed) return;
  const [caller, dialed] = [short(attempt.callerNumber), short(attempt.dialedNumber)];
  await context.models.refusals.create({
    _id: newId(),
    team_id: attempt.teamId,
    agent_id: attempt.agentId,
    kind: attempt.kind,
    reason: refusal.reason.code,
    message: refusal.reason.message,
    status: refusal.status,
    caller_number: caller,
    dialed_number: dialed,
    numbers: [caller, dialed].filter((number) => number !== null),
    sip_call_id: attempt.sipCallId ?? null,
    created_at: now(context),
  });
}

function short(number: string | null | undefined): string | null {
  return number ? number.slice(0, MAX_NUMBER_CHARS) : null;
}
