/** How a vendor is configured: its key and its base address. */
import type { Vendor } from './vendors.ts';

/** The two settings of every vendor, such as `OPENAI_API_KEY` and `OPENAI_BASE_URL`. */
export type VendorSettings = {
  readonly [V in Vendor as `${Uppercase<V>}_API_KEY` | `${Uppercase<V>}_BASE_URL`]?: string | undefined;
};

/** Returns the key and base address configured for a vendor. */
export function vendorAccess(
  settings: VendorSettings,
  vendor: Vendor,
): { readonly apiKey: string | undefined; readonly baseUrl: string | undefined } {
  const prefix = vendor.toUpperCase() as Uppercase<Vendor>;
  return { apiKey: settings[`${prefix}_API_KEY`], baseUrl: settings[`${prefix}_BASE_URL`] };
}

/** True if a key or a base address of this vendor is set; with a base address the key may be absent. */
export function isVendorConfigured(settings: VendorSettings, vendor: Vendor): boolean {
  const access = vendorAccess(settings, vendor);
  return access.apiKey !== undefined || access.baseUrl !== undefined;
}
