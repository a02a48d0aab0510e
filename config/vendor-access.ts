/** How a vendor is configured: its key and its base address. */
import type { Vendor } from './vendors.ts';

/**
 * The two settings of every vendor, such as `OPENAI_API_KEY` and `OPENAI_BASE_URL`, and the file that may
 * take the place of a key.
 */
export type VendorSettings = {
  readonly [V in Vendor as `${Uppercase<V>}_API_KEY` | `${Uppercase<V>}_BASE_URL`]?: string | undefined;
} & { readonly GOOGLE_CLOUD_KEY_FILE?: string | undefined };

/** Returns the key and base address configured for a vendor. */
export function vendorAccess(
  settings: VendorSettings,
  vendor: Vendor,
): { readonly apiKey: string | undefined; readonly baseUrl: string | undefined } {
  const prefix = vendor.toUpperCase() as Uppercase<Vendor>;
  return { apiKey: settings[`${prefix}_API_KEY`], baseUrl: settings[`${prefix}_BASE_URL`] };
}

/** True if a key, its file or a base address of this vendor is set; with an address the key may be absent. */
export function isVendorConfigured(settings: VendorSettings, vendor: Vendor): boolean {
  const access = vendorAccess(settings, vendor);
  const hasFile = vendor === 'google_cloud' && settings.GOOGLE_CLOUD_KEY_FILE !== undefined;
  return access.apiKey !== undefined || access.baseUrl !== undefined || hasFile;
}
