/**
 * Calls of phones that register here. They reach agents of their own account by extension, and nothing else:
 * no telephone number, and nobody of another account.
 */
import { fault } from '#config/errors.ts';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import { usernameOf } from '../../catalogue/numbers/sip-digest.ts';
import { numberOfExtension } from '../../catalogue/phones/extension-number.ts';
import { agentAt } from '../../catalogue/phones/extensions.ts';
import { isPhoneUsername } from '../../catalogue/phones/phone-store.ts';
import { provePhone } from '../../catalogue/phones/prove-phone.ts';
import type { Context } from '../../platform/context.ts';
import { logRefusal } from '../../platform/refusals/log-refusal.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { SipPhoneDocument } from '../../platform/store/models/sip-phone-model.ts';

/** What becomes of the call. */
export type PhoneCall =
  | { readonly is: 'challenged'; readonly challenges: string[] }
  | { readonly is: 'too_many'; readonly seconds: number }
  | { readonly is: 'refused'; readonly status: number; readonly reason: string }
  /** `request`: the caller is the phone's extension, whatever the INVITE says. */
  | { readonly is: 'admissible'; readonly number: NumberDocument; readonly request: AdmissionRequest };

/** Whether an INVITE says that it is from a phone that registers here. */
export function namesPhone(request: AdmissionRequest): boolean {
  return isPhoneUsername(request.from_user) || isPhoneUsername(usernameOf(answerOf(request)) ?? '');
}

/** Challenges the phone, and finds the agent with the extension that it calls. */
export async function phoneCallOf(context: Context, request: AdmissionRequest): Promise<PhoneCall> {
  const proof = await provePhone(context, {
    method: 'INVITE',
    requestUri: request.request_uri,
    answer: answerOf(request),
    sourceAddress: request.source_address,
    userAgent: request.user_agent ?? '',
  });
  if (proof.is !== 'proven') return proof;
  const { phone } = proof;
  const agent = await agentAt(context, phone.team_id, request.to_user);
  const problem = !agent
    ? fault('extension_unknown', { extension: request.to_user.slice(0, 32) })
    : !phone.may_call_agents
      ? fault('phone_may_not_call')
      : null;
  if (problem === null && agent)
    return {
      is: 'admissible',
      number: numberOfExtension(context, agent),
      request: { ...request, from_user: phone.extension },
    };
  const reason = problem ?? fault('not_found');
  logRefusal(context, refusedCall(phone, request, agent?._id ?? null), reason);
  return { is: 'refused', status: reason.sipStatus, reason: printable(reason.message) };
}

function refusedCall(phone: SipPhoneDocument, request: AdmissionRequest, agentId: string | null) {
  return {
    kind: 'inbound_call' as const,
    teamId: phone.team_id,
    agentId,
    callerNumber: phone.extension,
    dialedNumber: request.to_user,
    sipCallId: request.call_id,
  };
}

function answerOf({ headers }: AdmissionRequest): string | undefined {
  return headers['proxy-authorization'] ?? headers['authorization'];
}

/** For the status line. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '');
}
