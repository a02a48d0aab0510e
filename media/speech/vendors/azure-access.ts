/** Access to Azure's Speech service, for recognition and synthesis. */
import { VENDORS } from '#config/vendors.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** Said when the vendor refuses a key: keys of one region are unknown in the others. */
export const AZURE_KEY_ADVICE = 'check AZURE_API_KEY, and that AZURE_REGION is the region of its resource';

/** Domains of the national clouds, by the beginning of their regions' names. */
const NATIONAL_DOMAINS = [
  { prefix: 'china', speech: 'azure.cn', api: 'azure.cn' },
  { prefix: 'usgov', speech: 'azure.us', api: 'microsoft.us' },
  { prefix: 'usdod', speech: 'azure.us', api: 'microsoft.us' },
] as const;
const PUBLIC_DOMAINS = { speech: 'microsoft.com', api: 'microsoft.com' } as const;

/** The authorisation header. */
export function authorization({ apiKey }: SpeechVendorOptions): Record<string, string> {
  return apiKey === undefined ? {} : { 'ocp-apim-subscription-key': apiKey };
}

/**
 * The base address of recognition (`stt`), of synthesis (`tts`) or of the REST API (`api`). The portal shows
 * one endpoint for all: of a region, or of a resource with its own name. Any other server serves all at one
 * address.
 *
 * Source: Microsoft's pages "Speech service supported regions" and "Use Speech service through a private
 * endpoint".
 */
export function partAddress(baseUrl: string, part: 'stt' | 'tts' | 'api'): string {
  const { hostname } = new URL(baseUrl);
  const region = /^([a-z0-9]+)\.api\.cognitive\.[a-z.]+$/.exec(hostname)?.[1];
  if (region !== undefined) {
    const domains = NATIONAL_DOMAINS.find(({ prefix }) => region.startsWith(prefix)) ?? PUBLIC_DOMAINS;
    return part === 'api'
      ? `https://${region}.api.cognitive.${domains.api}`
      : `https://${region}.${part}.speech.${domains.speech}`;
  }
  if (part === 'api') return baseUrl;
  return /\.cognitiveservices\.azure\.[a-z]+$/.test(hostname) ? `${baseUrl}/${part}` : baseUrl;
}

/** The voices, the default first. */
export const AZURE_VOICES = VENDORS.azure.voices;
