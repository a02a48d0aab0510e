/** How to reach a speech vendor, from the settings and the vendor's row. */
import type { Clock } from '#base/clock.ts';
import type { Settings } from '#config/env.ts';
import { vendorAccess } from '#config/vendor-access.ts';
import { type RecognitionVendor, type SynthesisVendor, VENDORS } from '#config/vendors.ts';

/** Address and key of a vendor's speech API. */
export interface SpeechAccess {
  /** http or ws scheme; no path, except OpenAI's, which ends in `/v1`. */
  readonly baseUrl: string;
  /** Absent only for a self-hosted server. */
  readonly apiKey: string | undefined;
  /** A file with the key of a service account; used instead of `apiKey`. */
  readonly keyFile?: string | undefined;
}

/** What the engine of a vendor needs. */
export interface SpeechVendorOptions extends SpeechAccess {
  readonly clock: Clock;
}

/** The configured access; by default the vendor's own address. */
export function speechAccess(settings: Settings, vendor: RecognitionVendor | SynthesisVendor): SpeechAccess {
  const { apiKey, baseUrl = VENDORS[vendor].speechUrl } = vendorAccess(settings, vendor);
  // Settings with a key and neither a region nor an address are refused at the start.
  return {
    apiKey,
    baseUrl: baseUrl.replace('{region}', settings.AZURE_REGION ?? ''),
    ...(vendor === 'google_cloud' ? { keyFile: settings.GOOGLE_CLOUD_KEY_FILE } : {}),
  };
}
