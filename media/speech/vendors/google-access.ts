/**
 * Access to Google Cloud's speech APIs: by an API key, or as a service account, whose key signs a token for
 * each API (RFC 7519) that is sent instead of one from Google's token server.
 *
 * Source: Google's pages "Use API keys to access APIs" and AIP-4111, "Self-signed JWT".
 */
import { sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { SpeechError } from '../speech.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** Said when the vendor refuses a key. */
export const GOOGLE_KEY_ADVICE =
  'check GOOGLE_CLOUD_API_KEY or GOOGLE_CLOUD_KEY_FILE, and that the Speech-to-Text and Text-to-Speech ' +
  'APIs are enabled in its project';

/** The vendor's limit. */
const TOKEN_LIFE_S = 3_600;
/** A token is replaced this long before its end, for clocks that differ. */
const TOKEN_MARGIN_S = 300;

const serviceAccount = z.object({
  client_email: z.string(),
  private_key: z.string(),
  private_key_id: z.string().optional(),
});

/** The APIs, by the first part of their hosts. */
export type GoogleApi = 'speech' | 'texttospeech';

/** The address of an API; another server than Google's serves both at one address. */
export function apiAddress(baseUrl: string, api: GoogleApi): string {
  const url = baseUrl.replace(/^ws/, 'http');
  return new URL(url).hostname === 'googleapis.com' ? `https://${api}.googleapis.com` : url;
}

/** The credentials of one engine. */
export class GoogleCredentials {
  readonly #options: SpeechVendorOptions;
  readonly #api: GoogleApi;
  #token: { readonly value: string; readonly replacedAtS: number } | null = null;

  constructor(options: SpeechVendorOptions, api: GoogleApi) {
    this.#options = options;
    this.#api = api;
  }

  /** The headers of a request. Throws `SpeechError` for a key file that cannot be used. */
  headers(): Record<string, string> {
    const { apiKey, keyFile, clock } = this.#options;
    if (keyFile === undefined) return apiKey === undefined ? {} : { 'x-goog-api-key': apiKey };
    const nowS = Math.floor(clock.wallTime() / 1_000);
    if (!this.#token || nowS >= this.#token.replacedAtS)
      this.#token = {
        value: tokenOf(keyFile, this.#api, nowS),
        replacedAtS: nowS + TOKEN_LIFE_S - TOKEN_MARGIN_S,
      };
    return { authorization: `Bearer ${this.#token.value}` };
  }
}

/** Reads the file each time: a key that was replaced is used within the hour. */
function tokenOf(keyFile: string, api: GoogleApi, nowS: number): string {
  try {
    const account = parseJson(serviceAccount, readFileSync(keyFile, 'utf8'));
    if (!account) throw new Error('it is not the JSON key of a service account');
    const { client_email: email, private_key: key, private_key_id: kid } = account;
    const claims = {
      iss: email,
      sub: email,
      aud: `https://${api}.googleapis.com/`,
      iat: nowS,
      exp: nowS + TOKEN_LIFE_S,
    };
    const signed = [{ alg: 'RS256', typ: 'JWT', kid }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
  } catch (cause) {
    // Not the cause's own text, which may quote the file.
    const problem = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
    throw new SpeechError(
      'authentication',
      `GOOGLE_CLOUD_KEY_FILE must be readable, and the JSON key of a service account${problem}`,
    );
  }
}
