/**
 * Transfer options of a phone call: for each of the agent's destinations a route, or the reason why it cannot
 * be reached.
 */
import type { AgentConfig } from '#config/agent-config.ts';
import { Fault, fault } from '#config/errors.ts';
import type { CallPlan, TransferRoute } from '#protocol/call-plan.ts';
import { isE164 } from '#telephony/e164.ts';
import { numberOf, readSipUri, telephoneOf } from '#telephony/sip-address.ts';
import { tenantGuard } from '../../catalogue/numbers/tenant-guard.ts';
import { isOfExtension } from '../../catalogue/phones/extension-number.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { checkDestination, refuseHostedNumber } from './check-outbound.ts';
import { guardOf, SESSION_HEADER, trunkOf } from './outbound-transport.ts';

type Destination = AgentConfig['conversation']['transfer_destinations'][number];

/** A route without an address. */
const NOWHERE = {
  number: null,
  dial_uri: '',
  guard: null,
  is_referable: false,
  headers: {},
  username: null,
  password: null,
};

/** Plans the transfers of a call on `number`; null when the agent has no transfer destinations. */
export async function planTransfers(
  context: Pick<Context, 'settings' | 'secretBox' | 'models'>,
  number: NumberDocument,
  call: {
    readonly sessionId: string;
    readonly config: AgentConfig /** As the carrier gave it. */;
    readonly callerNumber: string;
  },
): Promise<CallPlan['transfer']> {
  const destinations = call.config.conversation.transfer_destinations;
  if (destinations.length === 0) return null;
  // A withheld caller id cannot be presented.
  const showsCaller = number.transfer_caller_id === 'original_caller' && isE164(call.callerNumber);
  return {
    is_counted: number.provider === 'managed',
    from_number: showsCaller ? call.callerNumber : number.phone_number,
    routes: await Promise.all(
      destinations.map(async (destination) =>
        withExtension(
          await routeTo(context, number, { destination, sessionId: call.sessionId }),
          destination.extension,
        ),
      ),
    ),
  };
}

/** A carrier that is asked to transfer dials no extension; the worker does. */
function withExtension(route: TransferRoute, extension: string | undefined): TransferRoute {
  return extension === undefined ? route : { ...route, extension, is_referable: false };
}

async function routeTo(
  context: Pick<Context, 'settings' | 'secretBox' | 'models'>,
  number: NumberDocument,
  to: { readonly destination: Destination; readonly sessionId: string },
): Promise<TransferRoute> {
  const { destination, sessionId } = to;
  const session = { [SESSION_HEADER]: sessionId };
  try {
    if (destination.type === 'sip_phone') {
      const { phone_extension = '' } = destination;
      return { ...NOWHERE, headers: session, phone_extension, error: null };
    }
    if (destination.type === 'sip') {
      await checkAddress(context, number, destination.sip_uri);
      return {
        number: null,
        dial_uri: destination.sip_uri,
        guard: tenantGuard(context),
        // A REFER would make the platform's carrier dial it at the platform's cost, bypassing the rules for
        // outbound destinations. A phone that is asked to call a stranger would ask us, and be refused.
        is_referable: number.provider !== 'managed' && !isOfExtension(number),
        // A party named by a SIP URI is not part of the trunk and must not see its password or headers.
        headers: session,
        username: null,
        password: null,
        error: null,
      };
    }
    if (isOfExtension(number)) throw fault('no_number_to_call_from');
    const { address, parameters, username, password, line } = await trunkOf(context, number);
    const toNumber = await checkDestination(context, number, destination.phone_number);
    return {
      number: toNumber,
      dial_uri: address === '' ? '' : `sip:${toNumber}@${address}${parameters}`,
      guard: guardOf(context, number),
      is_referable: true,
      headers: { ...number.sip?.termination_headers, ...session },
      username,
      password,
      ...(line && { line }),
      error: null,
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...NOWHERE, error: `${error.code}: ${error.message}` };
  }
}

/**
 * Applies the rules of a phone number to a SIP address that represents one, however it is written. Throws
 * `destination_invalid` and whatever `checkDestination` throws.
 */
async function checkAddress(
  context: Pick<Context, 'settings' | 'models'>,
  number: NumberDocument,
  uri: string,
): Promise<void> {
  const address = readSipUri(uri);
  if (!address) throw fault('destination_invalid');
  const itsNumber = numberOf(address.user);
  if (itsNumber !== null) await refuseHostedNumber(context, number, itsNumber);
  const dialled = telephoneOf(address);
  if (dialled !== null) await checkDestination(context, number, dialled);
}
