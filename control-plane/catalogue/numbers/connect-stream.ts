/**
 * Connects a number of a customer's own account at a vendor: its calls then come as media streams, which
 * needs a secret of the account and no trunk, no open port and no UDP. Twilio is told where to send them;
 * at other vendors the customer enters the address.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { isTelnyxKey } from '#telephony/carriers/telnyx-key.ts';
import { type Context, newId } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { invalidField } from '../../platform/http/problems.ts';
import type { NumberDocument, NumberStream } from '../../platform/store/models/number-model.ts';
import { NO_TRUNK } from './new-number.ts';
import { agentId, e164, label, voiceUrl } from './number-record.ts';
import { changeNumber, importNumber, releaseNumber, requireAgent } from './number-store.ts';

const shared = { phone_number: e164, label: label.default(''), agent_id: agentId.default(null) };
const secret = z.string().min(1).max(512);
const account = z.string().min(1).max(64);

/** Body of `POST /v1/agent/phone-numbers/connect-twilio`. */
export const twilioConnect = z.strictObject({
  account_sid: z.string().regex(/^AC[0-9a-fA-F]{32}$/, 'must be AC and 32 hexadecimal digits'),
  auth_token: z.string().min(1).max(128),
  ...shared,
  /** Takes the number's calls also if they go elsewhere now. */
  replace: z.boolean().default(false),
});

/** Body of `POST /v1/agent/phone-numbers/connect-stream`. */
export const streamConnect = z.discriminatedUnion('vendor', [
  z.strictObject({
    vendor: z.literal('telnyx'),
    public_key: z.string().max(64).refine(isTelnyxKey, 'must be 32 bytes in base64'),
    ...shared,
  }),
  z.strictObject({ vendor: z.literal('vonage'), api_key: account, signature_secret: secret, ...shared }),
  z.strictObject({ vendor: z.literal('plivo'), auth_id: account, auth_token: secret, ...shared }),
]);
type StreamConnect = z.output<typeof streamConnect>;

const NOT_PUBLIC = 'A vendor reaches this deployment only if PUBLIC_URL is an https address: set it first';
/** Without the address: it may contain a secret. */
const ELSEWHERE =
  'Twilio sends the calls of this number elsewhere: set replace to true to have them sent here';

/**
 * Imports the number, or takes the one that the team has, and has its calls sent here. Throws
 * `InvalidRequest` if the account has no such number, `conflict`, `provider_refused`, `provider_unreachable`,
 * and as `importNumber` does.
 */
export async function connectTwilio(
  context: Context,
  caller: Caller,
  body: z.output<typeof twilioConnect>,
): Promise<NumberDocument> {
  const { account_sid: accountSid, auth_token: authToken, phone_number: phoneNumber, replace } = body;
  const { publicAddress, settings } = context;
  // A stand-in for Twilio may be on this machine.
  if (settings.TWILIO_BASE_URL === undefined) requirePublic(context);
  const stream = { vendor: 'twilio', account: accountSid, secret: authToken } as const;
  const { number, isNew } = await holdNumber(context, caller, { ...body, stream });
  const { sendCallsTo } = await import('#telephony/carriers/twilio-calls.ts');
  const access = { accountSid, authToken, baseUrl: settings.TWILIO_BASE_URL };
  try {
    const url = voiceUrl(publicAddress.url, number._id);
    const outcome = await sendCallsTo(access, { phoneNumber, url, replace });
    if (outcome === 'unknown') throw invalidField(['phone_number'], 'the Twilio account has no such number');
    if (outcome === 'elsewhere') throw fault('conflict', { detail: ELSEWHERE });
  } catch (error) {
    if (isNew) await releaseNumber(context, caller.teamId, number._id);
    throw error;
  }
  return isNew ? number : setStream(context, number, body, stream);
}

/**
 * Imports the number, or takes the one that the team has; the customer has its calls sent to `voice_url` of
 * its record. Throws `conflict`, and as `importNumber` does.
 */
export async function connectStream(
  context: Context,
  caller: Caller,
  body: StreamConnect,
): Promise<NumberDocument> {
  requirePublic(context);
  const stream = streamOf(body);
  const { number, isNew } = await holdNumber(context, caller, { ...body, stream });
  return isNew ? number : setStream(context, number, body, stream);
}

/**
 * Has Twilio send no calls of the number here any more, if they come here. A failure is logged: the account
 * may be gone, and the number can be given up all the same.
 */
export async function disconnectTwilio(context: Context, number: NumberDocument): Promise<void> {
  const { media_stream: stream, phone_number: phoneNumber, _id } = number;
  if (stream?.vendor !== 'twilio') return;
  const { stopCallsTo } = await import('#telephony/carriers/twilio-calls.ts');
  const { publicAddress, secretBox, settings } = context;
  const authToken = secretBox.open(stream.secret);
  const access = { accountSid: stream.account, authToken, baseUrl: settings.TWILIO_BASE_URL };
  await stopCallsTo(access, { phoneNumber, url: voiceUrl(publicAddress.url, _id) }).catch((error: unknown) =>
    context.logger.warn({ err: error, phone_number_id: _id }, 'Twilio still sends calls of a number here'),
  );
}

/** The account with its secret, which is not sealed yet. */
function streamOf(body: StreamConnect): NumberStream {
  switch (body.vendor) {
    case 'telnyx':
      return { vendor: 'telnyx', account: '', secret: body.public_key };
    case 'vonage':
      return { vendor: 'vonage', account: body.api_key, secret: body.signature_secret };
    case 'plivo':
      return { vendor: 'plivo', account: body.auth_id, secret: body.auth_token };
    default:
      return body satisfies never;
  }
}

function requirePublic({ publicAddress }: Pick<Context, 'publicAddress'>): void {
  if (!publicAddress.url.startsWith('https:')) throw fault('conflict', { detail: NOT_PUBLIC });
}

type Wanted = Pick<StreamConnect, keyof typeof shared> & { readonly stream: NumberStream };

/** The team's number, or a new one that has this stream. */
async function holdNumber(
  context: Context,
  caller: Caller,
  { phone_number: phoneNumber, label: name, agent_id, stream }: Wanted,
): Promise<{ readonly number: NumberDocument; readonly isNew: boolean }> {
  const held = await context.models.numbers
    .findOne({ team_id: caller.teamId, phone_number: phoneNumber, status: 'active' })
    .lean<NumberDocument>();
  if (held?.provider === 'managed') throw fault('number_taken');
  if (held) {
    await requireAgent(context, caller.teamId, agent_id);
    return { number: held, isNew: false };
  }
  const wanted = { id: newId(), phoneNumber, label: name, agentId: agent_id };
  const reached = { sip: NO_TRUNK, media_stream: sealed(context, stream) };
  return { number: await importNumber(context, caller, wanted, reached), isNew: true };
}

/** Label and agent stay as they are unless others are given. */
function setStream(
  context: Context,
  number: NumberDocument,
  { label: name, agent_id }: Pick<Wanted, 'label' | 'agent_id'>,
  stream: NumberStream,
): Promise<NumberDocument> {
  return changeNumber(context, number, {
    media_stream: sealed(context, stream),
    ...(name !== '' && { label: name }),
    ...(agent_id !== null && { agent_id }),
  });
}

function sealed({ secretBox }: Pick<Context, 'secretBox'>, stream: NumberStream): NumberStream {
  return { ...stream, secret: secretBox.seal(stream.secret) };
}
