/** Names of vendors as values of a metric's label. */
import { VENDOR_NAMES } from './vendors.ts';

/** `local` runs on our machines; `custom` is at an address of the tenant. */
export const VENDOR_LABELS: readonly string[] = [...VENDOR_NAMES, 'local', 'custom'];

/** The vendor of an engine or model, by its id (`deepgram:nova-3`, `openai/gpt-4.1`, `custom`). */
export function vendorOfEngine(id: string): string {
  return id.slice(0, /[:/]|$/.exec(id)?.index);
}
