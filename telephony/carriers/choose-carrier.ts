/** Chooses the carrier of this deployment: Twilio if its account is set, otherwise the test catalogue. */
import { isIP } from 'node:net';
import type { Logger } from '#base/log.ts';
import { hostPort, isPublicAddress } from '#base/public-address.ts';
import type { Settings } from '#config/env.ts';
import type { Carrier } from './carrier.ts';
import { createTestCatalogue } from './test-catalogue.ts';

type SipSettings = Pick<Settings, 'SIP_HOST' | 'SIP_PORT' | 'SIP_PUBLIC_IP'>;
type CarrierSettings = SipSettings &
  Pick<Settings, 'TWILIO_ACCOUNT_SID' | 'TWILIO_AUTH_TOKEN' | 'TWILIO_BASE_URL' | 'PUBLIC_URL'>;

/** Creates the carrier. Logs a warning if numbers would be bought that no call can reach. */
export async function chooseCarrier(settings: CarrierSettings, logger: Logger): Promise<Carrier> {
  const { TWILIO_ACCOUNT_SID: accountSid, TWILIO_AUTH_TOKEN: authToken, TWILIO_BASE_URL: baseUrl } = settings;
  if (accountSid === undefined || authToken === undefined) return createTestCatalogue();
  const sipAddress = publicSipAddress(settings);
  if (sipAddress === undefined)
    logger.warn(
      'numbers bought at Twilio are connected to no trunk: SIP_PUBLIC_IP or SIP_HOST must be a public ' +
        'address, and SIP_PORT must not be 0',
    );
  // The SDK takes 40 MB and half a second to load: only deployments that use it should pay for that.
  const { createTwilioCarrier } = await import('./twilio.ts');
  return createTwilioCarrier({ accountSid, authToken, baseUrl, sipAddress, publicUrl: settings.PUBLIC_URL });
}

/** `host:port` at which a carrier on the internet reaches the SIP port; undefined if none does. */
export function publicSipAddress({ SIP_HOST, SIP_PORT, SIP_PUBLIC_IP }: SipSettings): string | undefined {
  const host = SIP_PUBLIC_IP ?? SIP_HOST;
  const isPublic = isIP(host) === 0 ? host.includes('.') : isPublicAddress(host);
  if (!isPublic || SIP_PORT === 0) return undefined;
  return hostPort(host, SIP_PORT);
}
