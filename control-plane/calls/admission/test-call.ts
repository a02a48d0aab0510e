/**
 * Test calls: a header of the INVITE proves that a key asked for the call. Such a call is a preview: free, in
 * no list, without webhooks and unrecorded. The doctor's go to a number, as any call does; those of voice
 * tests go to an agent, which needs no number, and to any of its versions.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { SealBroken } from '#base/sealer.ts';
import { signallingServers } from '#config/env.ts';
import { fault } from '#config/errors.ts';
import { type AdmissionRequest, TEST_CALL_HEADER } from '#protocol/sip-admission.ts';
import { newNumber } from '../../catalogue/numbers/new-number.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';

/** Purpose of the sealed proof: it opens no stored secret, and no stored secret passes for a proof. */
const PURPOSE = 'test-call';
/** How long a proof admits a call. */
const VALID_MS = 2 * 60_000;

/** A version to call: of the agent's list, the published one, or what the draft is when it rings. */
export const testedVersion = z.union([z.enum(['draft', 'published']), z.number().int().min(1)]);
export type TestedVersion = z.output<typeof testedVersion>;

/** The agent of a voice test. */
const testedAgent = z.object({
  agent_id: z.string(),
  team_id: z.string(),
  workspace_id: z.string(),
  /** The account whose previews it counts among. */
  user_id: z.string(),
  version: testedVersion,
});
export type TestedAgent = z.output<typeof testedAgent>;

const proof = z.object({
  session_id: z.string(),
  number_id: z.string(),
  expires_ms: z.number(),
  agent: testedAgent.optional(),
});

/** Whether an INVITE claims to be a test call. */
export function isTestCall(request: AdmissionRequest): boolean {
  return headerOf(request) !== undefined;
}

/** A permitted call, as the API answers. */
export const testCallPermit = z.object({
  session_id: z.string().describe('The session of the call, a preview of this agent'),
  header: z
    .object({ name: z.string(), value: z.string() })
    .describe('The INVITE must contain this header, which permits one call'),
  expires_at: z.iso.datetime().describe('The call must begin before this time, RFC 3339 UTC'),
});
type TestCallPermit = z.output<typeof testCallPermit>;

/** Where the embedded signalling listens; null with an external SIP server. */
export function embeddedSip(settings: Context['settings']): { host: string; port: number } | null {
  const { SIP_HOST: host, SIP_PORT: port } = settings;
  return signallingServers(settings).length === 0 ? { host, port } : null;
}

/** Permits one call to a number. */
export function permitTestCall(
  { secretBox, clock }: Pick<Context, 'secretBox' | 'clock'>,
  number: Pick<NumberDocument, '_id'>,
  agent?: TestedAgent,
): TestCallPermit {
  const permitted: z.output<typeof proof> = {
    session_id: newId(),
    number_id: number._id,
    expires_ms: clock.wallTime() + VALID_MS,
    ...(agent ? { agent } : {}),
  };
  return {
    session_id: permitted.session_id,
    header: { name: TEST_CALL_HEADER, value: secretBox.seal(JSON.stringify(permitted), PURPOSE) },
    expires_at: new Date(permitted.expires_ms).toISOString(),
  };
}

/** Permits one call to an agent. */
export function permitAgentCall(
  context: Pick<Context, 'secretBox' | 'clock'>,
  agent: TestedAgent,
): TestCallPermit {
  return permitTestCall(context, numberOfTest(context, agent), agent);
}

/** The agent that a valid proof names, used or not; null for every other call. */
export function testedAgentOf(
  context: Pick<Context, 'secretBox' | 'clock'>,
  request: AdmissionRequest,
): TestedAgent | null {
  return validProof(context, request)?.agent ?? null;
}

/** Stands in a voice test for the number called. It is not stored, and has no trunk that could call on. */
export function numberOfTest(
  { clock }: Pick<Context, 'clock'>,
  { agent_id, team_id, workspace_id, user_id }: TestedAgent,
): NumberDocument {
  return newNumber(
    {
      _id: `test:${agent_id}`,
      team_id,
      workspace_id,
      user_id,
      phone_number: '',
      provider: 'managed',
      label: '',
      agent_id,
      status: 'active',
      sip: null,
    },
    now({ clock }),
  );
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
  context: Pick<Context, 'secretBox' | 'clock'>,
  request: AdmissionRequest,
  number: NumberDocument,
): string | null {
  const permitted = validProof(context, request);
  return permitted?.number_id === number._id ? permitted.session_id : null;
}

/** The proof in the header of an INVITE; null without one, and if it is not ours or has expired. */
function validProof(
  { secretBox, clock }: Pick<Context, 'secretBox' | 'clock'>,
  request: AdmissionRequest,
): z.output<typeof proof> | null {
  const value = headerOf(request);
  if (value === undefined) return null;
  try {
    const permitted = parseJson(proof, secretBox.open(value, PURPOSE));
    return permitted && permitted.expires_ms > clock.wallTime() ? permitted : null;
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}

function headerOf({ headers }: AdmissionRequest): string | undefined {
  return headers[TEST_CALL_HEADER.toLowerCase()];
}
