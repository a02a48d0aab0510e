/**
 * Connects a number of a customer's own account at Twilio: its calls then come as media streams, which needs
 * the account's token and no trunk, no open port and no UDP.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { VOICE_PATH } from '#telephony/carriers/carrier.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { invalidField } from '../../platform/http/problems.ts';
import type { NumberDocument, NumberSip, NumberStream } from '../../platform/store/models/number-model.ts';
import { agentId, e164, label } from './number-record.ts';
import { findNumber, importNumber } from './number-store.ts';

/** Body of `POST /v1/agent/phone-numbers/connect-twilio`. */
export const twilioConnect = z.strictObject({
  account_sid: z.string().regex(/^AC[0-9a-fA-F]{32}$/, 'must be AC and 32 hexadecimal digits'),
  auth_token: z.string().min(1).max(128),
  phone_number: e164,
  label: label.default(''),
  agent_id: agentId.default(null),
  /** Takes the number's calls also if they go elsewhere now. */
  replace: z.boolean().default(false),
});
export type TwilioConnect = z.output<typeof twilioConnect>;

/** Neither calls in nor out by SIP, until the number gets a SIP configuration. */
const NO_TRUNK: NumberSip = {
  inbound_auth_username: null,
  inbound_auth_password: null,
  inbound_allowed_addresses: [],
  termination_uri: null,
  termination_transport: null,
  termination_auth_username: null,
  termination_auth_password: null,
  termination_headers: {},
};

const NOT_PUBLIC = 'Twilio reaches this deployment only if PUBLIC_URL is an https address: set it first';
/** Without the address: it may contain a secret. */
const ELSEWHERE =
  'Twilio sends the calls of this number elsewhere: set replace to true to have them sent here';

/**
 * Imports the number, or takes the one that the team has, and has its calls sent here. Throws
 * `InvalidRequest` if the account has no such number or this deployment no public address, `conflict`,
 * `provider_refused`, `provider_unreachable`, and as `importNumber` does.
 */
export async function connectTwilio(
  context: Context,
  caller: Caller,
  body: TwilioConnect,
): Promise<NumberDocument> {
  const { models, publicAddress, secretBox, settings } = context;
  // A stand-in for Twilio may be on this machine.
  if (!publicAddress.url.startsWith('https:') && settings.TWILIO_BASE_URL === undefined)
    throw fault('conflict', { detail: NOT_PUBLIC });
  const { account_sid: accountSid, auth_token: authToken, phone_number: phoneNumber, replace } = body;
  const held = await models.numbers
    .findOne({ team_id: caller.teamId, phone_number: phoneNumber, status: 'active' })
    .lean<NumberDocument>();
  if (held?.provider === 'managed') throw fault('number_taken');
  const numberId = held?._id ?? newId();
  const { sendCallsTo } = await import('#telephony/carriers/twilio-voice.ts');
  const access = { accountSid, authToken, baseUrl: settings.TWILIO_BASE_URL };
  const outcome = await sendCallsTo(access, { phoneNumber, url: voiceUrl(context, numberId), replace });
  if (outcome === 'unknown') throw invalidField(['phone_number'], 'the Twilio account has no such number');
  if (outcome === 'elsewhere') throw fault('conflict', { detail: ELSEWHERE });
  const mediaStream: NumberStream = {
    vendor: 'twilio',
    account_sid: accountSid,
    auth_token: secretBox.seal(authToken),
  };
  const wanted = { id: numberId, phoneNumber, label: body.label, agentId: body.agent_id };
  if (!held) return importNumber(context, caller, wanted, { sip: NO_TRUNK, media_stream: mediaStream });
  await models.numbers.updateOne(
    { _id: numberId },
    { $set: { media_stream: mediaStream, updated_at: now(context) } },
  );
  return findNumber(context, caller.teamId, numberId);
}

/**
 * Has Twilio send no calls of the number here any more, if they come here. A failure is logged: the account
 * may be gone, and the number can be given up all the same.
 */
export async function disconnectTwilio(context: Context, number: NumberDocument): Promise<void> {
  const { media_stream: mediaStream, phone_number: phoneNumber, _id } = number;
  if (!mediaStream) return;
  const { stopCallsTo } = await import('#telephony/carriers/twilio-voice.ts');
  const { account_sid: accountSid, auth_token: sealed } = mediaStream;
  const authToken = context.secretBox.open(sealed);
  const access = { accountSid, authToken, baseUrl: context.settings.TWILIO_BASE_URL };
  await stopCallsTo(access, { phoneNumber, url: voiceUrl(context, _id) }).catch((error: unknown) =>
    context.logger.warn({ err: error, phone_number_id: _id }, 'Twilio still sends calls of a number here'),
  );
}

function voiceUrl({ publicAddress }: Pick<Context, 'publicAddress'>, numberId: string): string {
  return `${publicAddress.url}${VOICE_PATH}/${numberId}`;
}
