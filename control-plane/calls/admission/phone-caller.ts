/**
 * Calls of phones that register here. They reach agents of their own account by extension, and nothing else:
 * no telephone number, and nobody of another account.
 */
import { type Fault, fault } from '#config/errors.ts';
import { type AdmissionRequest, digestAnswer } from '#protocol/sip-admission.ts';
import { usernameOf } from '../../catalogue/numbers/sip-digest.ts';
import { numberOfExtension } from '../../catalogue/phones/extension-number.ts';
import { agentAt } from '../../catalogue/phones/extensions.ts';
import { isPhoneUsername } from '../../catalogue/phones/phone-store.ts';
import { provePhone } from '../../catalogue/phones/prove-phone.ts';
import type { Context } from '../../platform/context.ts';
import { logRefusal } from '../../platform/refusals/log-refusal.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';

/** The outcome of such a call. */
export type PhoneCall =
  | { readonly is: 'challenged'; readonly challenges: string[] }
  | { readonly is: 'too_many'; readonly seconds: number }
  | { readonly is: 'refused'; readonly status: number; readonly reason: string }
  /** `request`: the caller is the phone's extension, whatever the INVITE says. */
  | { readonly is: 'admissible'; readonly number: NumberDocument; readonly request: AdmissionRequest };

/** Whether an INVITE says that it is from a phone that registers here. */
export function namesPhone(request: AdmissionRequest): boolean {
  return isPhoneUsername(request.from_user) || isPhoneUsername(usernameOf(digestAnswer(request)) ?? '');
}

/** Challenges the phone, and finds the agent with the extension that it calls. */
export async function phoneCallOf(context: Context, request: AdmissionRequest): Promise<PhoneCall> {
  const proof = await provePhone(context, {
    method: 'INVITE',
    requestUri: request.request_uri,
    answer: digestAnswer(request),
    sourceAddress: request.source_address,
    userAgent: request.user_agent ?? '',
  });
  if (proof.is !== 'proven') return proof;
  const { phone } = proof;
  const agent = await agentAt(context, phone.team_id, request.to_user);
  const refuse = (reason: Fault): PhoneCall => {
    logRefusal(
      context,
      {
        kind: 'inbound_call',
        teamId: phone.team_id,
        agentId: agent?._id ?? null,
        callerNumber: phone.extension,
        dialedNumber: request.to_user,
        sipCallId: request.call_id,
      },
      reason,
    );
    return { is: 'refused', status: reason.sipStatus, reason: printable(reason.message) };
  };
  if (!agent) return refuse(fault('extension_unknown', { extension: request.to_user.slice(0, 32) }));
  if (!phone.may_call_agents) return refuse(fault('phone_may_not_call'));
  return {
    is: 'admissible',
    number: numberOfExtension(context, agent),
    request: { ...request, from_user: phone.extension },
  };
}

/** For the status line. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '');
}
