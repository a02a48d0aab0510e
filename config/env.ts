/**
 * The program's settings: one zod schema for the whole environment. `main.ts` reads the environment once and
 * passes each part the settings it needs. Invalid values stop the start with one line per problem; a value is
 * never printed, because it may be a secret.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { hostPort, isAllowListEntry, isAnyHost, isPort } from '#base/public-address.ts';
import { contradictions } from './contradictions.ts';
import { isCountry } from './countries.ts';
import { contentCapture } from './gen-ai.ts';
import { DEMO_MODEL_ID, vendorOfModel } from './language-models.ts';
import { limitSettings } from './limit-settings.ts';
import { priceSettings } from './price-settings.ts';
import { isSecretName } from './secret-name.ts';
import {
  LANGUAGE_VENDORS,
  RECOGNITION_VENDORS,
  SYNTHESIS_VENDORS,
  VENDOR_NAMES,
  type Vendor,
} from './vendors.ts';

const port = z.coerce
  .number('must be a port number')
  .int('must be a port number')
  .min(0, 'must be a port number')
  .max(65_535, 'must be a port number');
const seconds = z.coerce.number('must be a number of seconds').min(0, 'must be a number of seconds');
const count = z.coerce
  .number('must be a whole number of at least 1')
  .int('must be a whole number of at least 1')
  .min(1, 'must be a whole number of at least 1');
const secret = z.string().min(1);
const MASTER_KEY_BYTES = 32;
const masterKey = z
  .base64(
    `must be ${MASTER_KEY_BYTES} bytes in base64, such as openssl rand -base64 ${MASTER_KEY_BYTES} prints`,
  )
  .refine(
    (value) => Buffer.from(value, 'base64').length === MASTER_KEY_BYTES,
    `must be ${MASTER_KEY_BYTES} bytes in base64`,
  );
const host = z.string().regex(/^[A-Za-z0-9._:%-]+$/, 'must be an address or a host name');
const ipAddress = z.union([z.ipv4(), z.ipv6()], 'must be an IP address');
const commaList = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const PROXIES =
  'must be true, false, a number of hops, or a comma list of addresses and CIDRs of proxies, none with ' +
  'the prefix /0';
/**
 * `true` trusts every proxy, a number that many hops, a list the named proxies; a prefix length of 0 means
 * every address.
 */
const proxies = z.union(
  [
    z.stringbool({ truthy: ['true'], falsy: ['false', '0'], case: 'sensitive' }),
    z.stringFormat('hops', /^[1-9]\d?$/).transform(Number),
    commaList.pipe(
      z
        .array(
          z
            .union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])
            .refine((network) => !network.endsWith('/0'), PROXIES),
        )
        .min(1, PROXIES),
    ),
  ],
  PROXIES,
);
/** True for an address that people may read: it holds no secret. */
function isBare(url: string): boolean {
  const { username, password, search } = new URL(url);
  return `${username}${password}${search}` === '';
}

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
  .transform((value) => value.replace(/(?<!\/)\/+$/, ''));
const WEB_ADDRESS = 'must be an http://, https://, ws:// or wss:// address';
const vendorUrl = z
  .url({ protocol: /^(https?|wss?)$/, error: WEB_ADDRESS })
  .transform((value) => value.replace(/(?<!\/)\/+$/, ''));
const LOCAL_SERVER =
  'must be the address of a server without credentials, such as http://127.0.0.1:11434, or off';
const localServer = httpUrl.refine((value) => {
  const { username, password, search, hash } = new URL(value);
  return `${username}${password}${search}${hash}` === '';
}, LOCAL_SERVER);
const blobsUrl = z
  .string()
  .refine(
    (value) => !/^[a-z][a-z0-9+.-]+:\/\//i.test(value) || /^file:|^s3:\/\/[^/?]/.test(value),
    'must be a directory or s3://bucket?endpoint=…',
  );
const modelId = z
  .string()
  .refine(
    (value) => /^local\/./.test(value) || vendorOfModel(value) !== null,
    `must be <provider>/<model> of ${LANGUAGE_VENDORS.join(', ')}, local/<model>, or ${DEMO_MODEL_ID}`,
  );
const redisUrl = z.url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// address' });
const addresses = commaList.transform((entries, context) =>
  entries.map((entry) => {
    const {
      bracketed,
      plain,
      port: itsPort,
    } = /^(?:\[(?<bracketed>[0-9A-Fa-f:.]+)\]|(?<plain>[A-Za-z0-9._-]+)):(?<port>\d{1,5})$/.exec(entry)
      ?.groups ?? {};
    const address = { host: bracketed ?? plain ?? '', port: Number(itsPort) };
    if (address.host === '' || !isPort(address.port))
      context.addIssue({ code: 'custom', message: 'must be a comma list of host:port' });
    return address;
  }),
);
const relayInterfaces = z.string().transform((value, context) => {
  const { network, worker } = /^(?<network>[\w.~-]+),(?<worker>[\w.~-]+)$/.exec(value)?.groups ?? {};
  if (network !== undefined && worker !== undefined) return { network, worker };
  context.addIssue({
    code: 'custom',
    message: 'must be two names of rtpengine interfaces: towards carriers and phones, then towards workers',
  });
  return z.NEVER;
});
const iceServers = z.string().transform((value, context) => {
  const parsed = z
    .array(
      z.object({
        urls: z.union([z.string(), z.array(z.string())]),
        username: z.string().optional(),
        credential: z.string().optional(),
      }),
    )
    .safeParse(safeJson(value));
  if (!parsed.success) {
    context.addIssue({
      code: 'custom',
      message: 'must be a JSON list such as [{"urls":"stun:stun.example.com:3478"}]',
    });
    return z.NEVER;
  }
  return parsed.data;
});

const vendorBaseUrl = vendorUrl.optional();
const vendorKey = secret.optional();

/** Key and base address of each vendor. */
const vendorSettings = Object.fromEntries(
  VENDOR_NAMES.flatMap((vendor) => [
    [`${vendor.toUpperCase()}_API_KEY`, vendorKey],
    [`${vendor.toUpperCase()}_BASE_URL`, vendorBaseUrl],
  ]),
) as { [V in Vendor as `${Uppercase<V>}_API_KEY`]: typeof vendorKey } & {
  [V in Vendor as `${Uppercase<V>}_BASE_URL`]: typeof vendorBaseUrl;
};

const environmentSchema = z.object({
  PORT: port.default(8080),
  HOST: host.default('127.0.0.1'),
  PUBLIC_URL: httpUrl.optional(),
  DATA_DIR: z.string().min(1).default('./.data'),
  ROOT_API_KEY: z.string().min(16, 'must have at least 16 characters').optional(),
  MASTER_KEY: masterKey.optional(),
  MASTER_KEY_OLD: commaList.pipe(z.array(masterKey)).prefault(''),
  /** Which of the keys derived from the deployment key signs exported calls; those below stay published. */
  CALL_KEY_NUMBER: z.coerce.number().int().min(1).max(100).default(1),
  MONGODB_URL: z
    .string()
    .regex(/^mongodb(\+srv)?:\/\//, 'must start with mongodb:// or mongodb+srv://')
    .optional(),
  REDIS_URL: redisUrl.optional(),
  LIVEKIT_URL: z.url({ protocol: /^(https?|wss?)$/, error: WEB_ADDRESS }).optional(),
  LIVEKIT_PUBLIC_URL: z.url({ protocol: /^(https?|wss?)$/, error: WEB_ADDRESS }).optional(),
  LIVEKIT_API_KEY: secret.optional(),
  LIVEKIT_API_SECRET: secret.optional(),
  DRACHTIO_HOST: host.optional(),
  DRACHTIO_PORT: port.default(9022),
  DRACHTIO_SECRET: secret.default('cymru'),
  DRACHTIO_SERVERS: addresses.prefault(''),
  SIP_HOST: host.optional(),
  SIP_PORT: port.default(5060),
  SIP_TLS_PORT: port.default(5061),
  SIP_TLS_CERT: z.string().min(1).optional(),
  SIP_TLS_KEY: z.string().min(1).optional(),
  SIP_TLS_CA: z.string().min(1).optional(),
  SIP_SRTP: z.enum(['auto', 'off']).default('auto'),
  SIP_PUBLIC_IP: ipAddress.optional(),
  SIP_TRUSTED: commaList
    .pipe(
      z.array(
        z.union(
          [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
          'must be a comma list of IP addresses and CIDRs',
        ),
      ),
    )
    .prefault('127.0.0.0/8'),
  SIP_DIGEST: commaList
    .pipe(
      z
        .array(z.enum(['MD5', 'SHA-256'], 'must be a comma list of MD5 and SHA-256'))
        .min(1, 'must name MD5, SHA-256 or both'),
    )
    .prefault('MD5,SHA-256'),
  SIP_TRUNK_URI: z
    .string()
    .regex(
      /^[^\s/:;]+(:\d{1,5})?(;transport=(udp|tcp|tls))?$/,
      'must be host or host:port, with ;transport=tls for TLS',
    )
    .refine((value) => isPort(Number(/:(\d+)/.exec(value)?.[1] ?? 1)), 'must have a port from 1 to 65535')
    .optional(),
  SIP_TRUNK_USERNAME: z.string().min(1).optional(),
  SIP_TRUNK_PASSWORD: secret.optional(),
  RTP_PORT_MIN: port.default(20_000),
  RTP_PORT_MAX: port.default(29_999),
  RTPENGINE: addresses.prefault(''),
  RTPENGINE_INTERFACES: relayInterfaces.optional(),
  ICE_SERVERS: iceServers.prefault('[]'),
  MEDIA_PUBLIC_IP: ipAddress.optional(),
  BLOBS_URL: blobsUrl.optional(),
  TWILIO_ACCOUNT_SID: z
    .string()
    .regex(/^AC[A-Za-z0-9]+$/, 'must be an account id, starting with AC')
    .optional(),
  TWILIO_AUTH_TOKEN: secret.optional(),
  TWILIO_BASE_URL: httpUrl.optional(),
  EGRESS_ALLOW: commaList
    .pipe(
      z.array(
        z
          .string()
          .refine(
            isAllowListEntry,
            'must be a comma list of host names, addresses and CIDRs, each with an optional :port',
          ),
      ),
    )
    .prefault(''),
  TTS_PROVIDER: z.enum(['local', ...SYNTHESIS_VENDORS]).default('local'),
  ASR_PROVIDER: z.enum(['local', ...RECOGNITION_VENDORS]).default('local'),
  MODELS_URL: httpUrl
    .refine(isBare, 'must have no credentials and no query')
    .default('https://huggingface.co'),
  MODELS_TABLE: z.string().min(1).optional(),
  LOCAL_LLM_URL: z.union([z.literal('off'), localServer], LOCAL_SERVER).optional(),
  LLM_DEFAULT: modelId.optional(),
  LLM_ALLOWED: commaList
    .pipe(
      z.array(z.string().regex(/^[^/]+\/.+$/, 'must be a comma list of <provider>/<model> and <provider>/*')),
    )
    .optional(),
  ...vendorSettings,
  AZURE_REGION: z
    .string()
    .regex(/^[a-z0-9]+$/, 'must be the short name of a region, such as westeurope')
    .optional(),
  GOOGLE_CLOUD_KEY_FILE: z.string().min(1).optional(),
  ...priceSettings,
  TEXT_IDLE_MINUTES: count.max(10_080).default(60),
  PUBLIC_RATE_PER_AGENT: count.default(60),
  PUBLIC_RATE_PER_IP: count.default(10),
  ...limitSettings,
  SESSION_JOIN_SECONDS: count.default(60),
  ARCHIVE_SESSIONS_DAYS: count.optional(),
  WORKER_MAX_CALLS: count.optional(),
  CONTROL_PLANE_URL: httpUrl.optional(),
  WORKER_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  TRUST_PROXY: proxies.prefault('false'),
  METRICS_TOKEN: secret.optional(),
  HEALTH_HOST: host.default('127.0.0.1'),
  HEALTH_PORT: port.optional(),
  TLS_CERT: z.string().min(1).optional(),
  TLS_KEY: z.string().min(1).optional(),
  SIGNUP_URL: httpUrl.optional(),
  OUTBOUND_COUNTRIES: commaList
    .pipe(
      z.array(
        z
          .string()
          .refine(isCountry, 'must be a comma list of two-letter country codes (ISO 3166-1), such as US,GB'),
      ),
    )
    .prefault('US,CA,JP,GB,IT,AU,MX'),
  OUTBOUND_CALLS_PER_MINUTE: count.default(60),
  DRAIN_SECONDS: seconds.default(20),
  STOP_DELAY_SECONDS: seconds.default(0),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_FORMAT: z.enum(['auto', 'pretty', 'json']).default('auto'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: contentCapture,
  // Set by the supervisor for its processes, not by operators.
  INTERNAL_PORT: port.optional(),
  WORKER_INSTANCE: z.string().min(1).optional(),
  SUPERVISOR_RUN: z.string().min(1).optional(),
  WORKER_KINDS: commaList.pipe(z.array(z.enum(['phone', 'web', 'analysis']))).prefault('phone,web,analysis'),
});

/** Settings as passed to every part. Prices are integer micro-dollars. */
export type Settings = Omit<
  z.output<typeof environmentSchema>,
  'PUBLIC_URL' | 'SIP_HOST' | 'SIGNUP_URL' | 'BLOBS_URL' | 'CONTROL_PLANE_URL'
> & {
  /** Undefined while `PORT` is 0 and not bound; use `publicUrl()`. */
  readonly PUBLIC_URL: string | undefined;
  readonly SIP_HOST: string;
  readonly SIGNUP_URL: string | undefined;
  readonly BLOBS_URL: string;
  readonly CONTROL_PLANE_URL: string | undefined;
};

/** Thrown by `readSettings`: one line per invalid or contradictory setting. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/** Parses an environment. An empty value counts as unset. Throws `SettingsError`. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = environmentSchema.safeParse(given);
  if (!parsed.success) {
    // Several invalid entries of one list are one problem.
    throw new SettingsError([
      ...new Set(
        parsed.error.issues.map((issue) => `${String(issue.path[0] ?? 'environment')}: ${issue.message}`),
      ),
    ]);
  }
  const settings = parsed.data;
  const problems = [...publishedSecrets(given), ...contradictions(settings)];
  if (problems.length > 0) throw new SettingsError(problems);
  const dataDir = resolve(settings.DATA_DIR);
  return {
    ...settings,
    DATA_DIR: dataDir,
    PUBLIC_URL: settings.PUBLIC_URL,
    SIP_HOST: settings.SIP_HOST ?? settings.HOST,
    SIGNUP_URL: settings.SIGNUP_URL,
    BLOBS_URL: settings.BLOBS_URL ?? resolve(dataDir, 'blobs'),
    CONTROL_PLANE_URL: settings.CONTROL_PLANE_URL,
  };
}

const INTERNAL = new Set(['INTERNAL_PORT', 'WORKER_INSTANCE', 'SUPERVISOR_RUN', 'WORKER_KINDS']);

/** Names of all settings for operators; the table in docs/settings.md is checked against it. */
export const SETTING_NAMES = Object.keys(environmentSchema.shape).filter((name) => !INTERNAL.has(name));

/** Base of links: `PUBLIC_URL`, or the bound address of the HTTP server. */
export function publicUrl(settings: Settings, boundPort: number): string {
  if (settings.PUBLIC_URL !== undefined) return settings.PUBLIC_URL;
  const host = isAnyHost(settings.HOST) ? 'localhost' : settings.HOST;
  const scheme = settings.TLS_CERT === undefined ? 'http' : 'https';
  return `${scheme}://${hostPort(host, boundPort)}`;
}

/** The SIP servers that a worker connects to; empty for a worker without phone calls. */
export function signallingServers({
  DRACHTIO_SERVERS: several,
  DRACHTIO_HOST: host,
  DRACHTIO_PORT: itsPort,
}: Settings): readonly { readonly host: string; readonly port: number }[] {
  if (several.length > 0) return several;
  return host === undefined ? [] : [{ host, port: itsPort }];
}

/** Secrets that still have the value of a published example. */
function publishedSecrets(given: Readonly<Record<string, unknown>>): string[] {
  return SETTING_NAMES.filter(
    (name) => isSecretName(name) && /^change-?me/i.test(String(given[name] ?? '')),
  ).map((name) => `${name}: must be a secret of your own, not the published example`);
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
