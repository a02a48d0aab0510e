/** Where the phone with an extension can be called now. */
import type { PhonePlace } from '#protocol/phone-places.ts';
import { placesToRing } from '#telephony/registration/phone-bindings.ts';
import { requestUriOf } from '#telephony/registration/request-uri.ts';
import type { Context } from '../../platform/context.ts';
import type { SipPhoneDocument } from '../../platform/store/models/sip-phone-model.ts';

/** Its places; empty if there is no such phone in the team, or it is not registered. */
export async function placesOf(
  { models, clock }: Pick<Context, 'models' | 'clock'>,
  teamId: string,
  extension: string,
): Promise<PhonePlace[]> {
  const phone = await models.sipPhones.findOne({ team_id: teamId, extension }).lean<SipPhoneDocument>();
  return placesToRing(phone?.bindings ?? [], clock.wallTime()).map((binding) => ({
    dial_uri: requestUriOf(binding.contact),
    next_hop: binding.nextHop,
    routes: [...binding.path],
    server: binding.server,
  }));
}
