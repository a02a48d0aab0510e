/**
 * Options on the compatible APIs: the vendor's own, overridden by native parameters, which a client may set
 * at the top of its body, in `provider.options.parley`, or in `X-Service-<Param>` headers, in ascending
 * precedence. Pure.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { fault } from '#config/errors.ts';
import { invalidFrom } from '../../platform/http/problems.ts';
import { TTS_FIELDS, type TtsRequest, ttsRequest } from '../requests/tts-request.ts';

/** The part of a request that contains options. */
export interface OptionSources {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Native parameters; text and samples to clone come from the vendor's own fields. */
const PARAMETERS = TTS_FIELDS.filter((name) => name !== 'text' && name !== 'references');
/** Parameters of `prosody` that may also be set at the top level. */
const PROSODY = ['speed', 'volume', 'normalize_loudness'];
const UNSET_WORDS = new Set(['', 'false', '0', 'none', 'off']);

/** Whether the option counts as absent. */
export function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'string' && UNSET_WORDS.has(value.toLowerCase());
}

/** Throws `bad_request` for the first of these options that is set. */
export function refuseOptions(body: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  const refused = names.find((name) => !isUnset(body[name]));
  if (refused !== undefined)
    throw fault('bad_request', { detail: `${refused} is not supported here: leave it out` });
}

/** Throws `bad_request` for native parameters on a transcription, which has none. */
export function refuseNative(sources: OptionSources): void {
  if (Object.keys({ ...fromHeaders(sources.headers), ...fromProvider(sources.body) }).length > 0)
    throw fault('bad_request', {
      detail:
        'Native parameters (provider.options, X-Service-…) do not apply to transcription: leave them out',
    });
}

/**
 * The synthesis request from the vendor's options (`mapped`) and the native parameters. Throws
 * `InvalidRequest`.
 */
export function nativeRequest(
  mapped: Readonly<Record<string, unknown>>,
  { headers, body }: OptionSources,
): TtsRequest {
  const top = Object.fromEntries(Object.entries(body).filter(([name]) => PARAMETERS.includes(name)));
  const { prosody, ...merged } = [mapped, top, fromProvider(body), fromHeaders(headers)]
    .map(normalise)
    .reduce(over, {});
  const parsed = ttsRequest.safeParse({
    latency: 'low',
    ...merged,
    ...(prosody === undefined ? {} : { prosody }),
  });
  if (!parsed.success) throw invalidFrom(parsed.error, 'body');
  return parsed.data;
}

type Parameters = Record<string, unknown>;

/** Options of one level: null counts as absent, and `prosody` parameters move into it. */
function normalise(level: Parameters): Parameters {
  const said = Object.entries(level).filter(([, value]) => value !== null && value !== undefined);
  const alone = Object.fromEntries(said.filter(([name]) => PROSODY.includes(name)));
  const others = Object.fromEntries(said.filter(([name]) => !PROSODY.includes(name)));
  return Object.keys(alone).length === 0
    ? others
    : { ...others, prosody: { ...asRecord(others['prosody']), ...alone } };
}

function over(below: Parameters, above: Parameters): Parameters {
  const merged = { ...below, ...above };
  const both = below['prosody'] !== undefined && above['prosody'] !== undefined;
  return both
    ? { ...merged, prosody: { ...asRecord(below['prosody']), ...asRecord(above['prosody']) } }
    : merged;
}

function fromProvider(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const options = asRecord(asRecord(asRecord(body['provider'])['options'])['parley']);
  return Object.fromEntries(Object.entries(options).filter(([name]) => isParameter(name)));
}

function fromHeaders(headers: IncomingHttpHeaders): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [header, value] of Object.entries(headers)) {
    const name = header.startsWith('x-service-')
      ? header.slice('x-service-'.length).replaceAll('-', '_')
      : '';
    if (isParameter(name) && typeof value === 'string') found[name] = fromText(name, value);
  }
  return found;
}

function isParameter(name: string): boolean {
  return PARAMETERS.includes(name) || PROSODY.includes(name);
}

/** A header contains only text: numbers, lists and flags are parsed as JSON; an id stays a string. */
function fromText(name: string, text: string): unknown {
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  if (name === 'reference_id' && !text.startsWith('[')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
