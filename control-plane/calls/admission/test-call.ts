/**
 * The doctor's test calls: a header of the INVITE proves that the operator asked for the call. Such a call is
 * a preview of the published agent: free, in no list, without webhooks and unrecorded.
 */
import { z } from 'zod';
import { SealBroken } from '#base/sealer.ts';
import { fault } from '#config/errors.ts';
import { type AdmissionRequest, TEST_CALL_HEADER } from '#protocol/sip-admission.ts';
import { type Context, newId } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';

/** Purpose of the sealed proof: it opens no stored secret, and no stored secret passes for a proof. */
const PURPOSE = 'test-call';
/** How long a proof admits a call. */
const VALID_MS = 2 * 60_000;

const proof = z.object({ session_id: z.string(), number_id: z.string(), expires_ms: z.number() });

/** Whether an INVITE claims to be a test call. */
export function isTestCall({ headers }: AdmissionRequest): boolean {
  return headers[TEST_CALL_HEADER.toLowerCase()] !== undefined;
}

/** Permits one call to a number; `value` is that of the header. */
export function permitTestCall(
  { secretBox, clock }: Pick<Context, 'secretBox' | 'clock'>,
  number: Pick<NumberDocument, '_id'>,
): { readonly sessionId: string; readonly value: string; readonly expiresAt: Date } {
  const permitted: z.output<typeof proof> = {
    session_id: newId(),
    number_id: number._id,
    expires_ms: clock.wallTime() + VALID_MS,
  };
  return {
    sessionId: permitted.session_id,
    value: secretBox.seal(JSON.stringify(permitted), PURPOSE),
    expiresAt: new Date(permitted.expires_ms),
  };
}

/**
 * The session of a test call; null for any other call. Throws `not_found` if the proof is invalid, expired,
 * used or for another number: the call would be charged otherwise.
 */
export async function testSessionOf(
  context: Pick<Context, 'secretBox' | 'clock' | 'coordination'>,
  request: AdmissionRequest,
  number: NumberDocument,
): Promise<string | null> {
  if (!isTestCall(request)) return null;
  const sessionId = permittedSession(context, request, number);
  if (sessionId === null || !(await context.coordination.claim(`test-call:${sessionId}`, VALID_MS)))
    throw fault('not_found');
  return sessionId;
}

/** The session of a test call with a valid proof, used or not; otherwise null. */
export function permittedSession(
  { secretBox, clock }: Pick<Context, 'secretBox' | 'clock'>,
  { headers }: AdmissionRequest,
  number: NumberDocument,
): string | null {
  const value = headers[TEST_CALL_HEADER.toLowerCase()];
  const permitted = value === undefined ? null : readProof(secretBox, value);
  const isValid = permitted?.number_id === number._id && permitted.expires_ms > clock.wallTime();
  return isValid ? permitted.session_id : null;
}

function readProof(secretBox: Context['secretBox'], value: string): z.output<typeof proof> | null {
  try {
    return proof.parse(JSON.parse(secretBox.open(value, PURPOSE)));
  } catch (error) {
    if (error instanceof SealBroken || error instanceof SyntaxError || error instanceof z.ZodError)
      return null;
    throw error;
  }
}
