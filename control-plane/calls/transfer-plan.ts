/** What a phone call can be transferred with (supplement 4.7): for each destination of its agent the way there, or the reason why there is none. */
import type { AgentConfig } from '#config/agent-config.ts';
import type { CallPlan, TransferRoute } from '#config/call-plan.ts';
import { Fault } from '#config/errors.ts';
import { isE164 } from '#telephony/e164.ts';
import type { Context } from '../context.ts';
import type { NumberDocument } from '../store/models/number-model.ts';
import { checkDestination, refuseHostedNumber } from './check-outbound.ts';
import { SESSION_HEADER, trunkOf } from './outbound-transport.ts';

type Destination = AgentConfig['conversation']['transfer_destinations'][number];

/** Plans the transfers of a call on `number`; null when its agent has nobody to transfer to. */
export async function planTransfers(
  context: Pick<Context, 'settings' | 'secretBox' | 'models'>,
  number: NumberDocument,
  call: { readonly sessionId: string; readonly config: AgentConfig /** As the carrier gave it. */; readonly callerNumber: string },
): Promise<CallPlan['transfer']> {
  const destinations = call.config.conversation.transfer_destinations;
  if (destinations.length === 0) return null;
  // A withheld caller cannot be shown (supplement 4.7).
  const showsCaller = number.transfer_caller_id === 'original_caller' && isE164(call.callerNumber);
  return {
    from_number: showsCaller ? call.callerNumber : number.phone_number,
    routes: await Promise.all(destinations.map((destination) => routeTo(context, number, { destination, sessionId: call.sessionId }))),
  };
}

async function routeTo(
  context: Pick<Context, 'settings' | 'secretBox' | 'models'>,
  number: NumberDocument,
  to: { readonly destination: Destination; readonly sessionId: string },
): Promise<TransferRoute> {
  const { destination, sessionId } = to;
  const session = { [SESSION_HEADER]: sessionId };
  try {
    if (destination.type === 'sip') {
      // Whoever is named by a URI is none of the trunk's: neither its password nor its headers are theirs to see.
      await refuseHostedNumber(context, /^sips?:([^@]*)@/i.exec(destination.sip_uri)?.[1] ?? '');
      return { number: null, dial_uri: destination.sip_uri, headers: session, username: null, password: null, error: null };
    }
    const { address, parameters, username, password } = trunkOf(context, number);
    const toNumber = await checkDestination(context, number, destination.phone_number);
    const headers = { ...number.sip?.termination_headers, ...session };
    return { number: toNumber, dial_uri: address === '' ? '' : `sip:${toNumber}@${address}${parameters}`, headers, username, password, error: null };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { number: null, dial_uri: '', headers: {}, username: null, password: null, error: `${error.code}: ${error.message}` };
  }
}
