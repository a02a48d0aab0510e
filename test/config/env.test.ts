import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { publicUrl, readSettings, SETTING_NAMES, SettingsError } from '#config/env.ts';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readSettings(environment);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

describe('settings', () => {
  it('an empty environment gives the documented defaults', () => {
    const settings = readSettings({});
    expect(settings).toMatchObject({
      PORT: 8080,
      HOST: '127.0.0.1',
      DATA_DIR: resolve('.data'),
      SIP_HOST: '127.0.0.1',
      SIP_PORT: 5060,
      SIP_TRUSTED: ['127.0.0.0/8'],
      RTP_PORT_MIN: 20_000,
      RTP_PORT_MAX: 29_999,
      EGRESS_ALLOW: [],
      TTS_PROVIDER: 'local',
      ASR_PROVIDER: 'local',
      STARTING_CREDIT: 10_000_000,
      PRICE_CALL_PER_MINUTE: 60_000,
      SESSION_JOIN_SECONDS: 60,
      OUTBOUND_COUNTRIES: ['US', 'CA', 'JP', 'GB', 'IT', 'AU', 'MX'],
      DRAIN_SECONDS: 20,
      TRUST_PROXY: false,
    });
    expect(settings.BLOBS_URL).toBe(join(settings.DATA_DIR, 'blobs'));
    expect(publicUrl(settings, 8080)).toBe('http://127.0.0.1:8080');
  });

  it('an empty value counts as unset', () => {
    expect(readSettings({ PORT: '', MONGODB_URL: '' }).PORT).toBe(8080);
  });

  it('every malformed value gives one line that names its setting', () => {
    const problems = problemsOf({
      PORT: 'eighty',
      MONGODB_URL: 'postgres://x',
      LOG_LEVEL: 'loud',
      PRICE_CALL_PER_MINUTE: 'cheap',
      ICE_SERVERS: '{',
    });
    expect(problems.map((problem) => problem.split(':')[0]).sort()).toEqual([
      'ICE_SERVERS',
      'LOG_LEVEL',
      'MONGODB_URL',
      'PORT',
      'PRICE_CALL_PER_MINUTE',
    ]);
    for (const problem of problems) expect(problem).not.toContain('\n');
  });

  it.each([
    ['HOST', 'not a host!', '::1'],
    ['SIP_TRUNK_URI', 'trunk.example:99999', 'trunk.example:5061;transport=tls'],
    ['SIP_TRUSTED', '10.0.0.0/99', '10.0.0.0/8,fd00::/8'],
    ['SIP_PUBLIC_IP', 'nowhere', '203.0.113.9'],
    ['RTPENGINE', '10.0.0.5', '10.0.0.5:2223, [fd00::5]:2223, relay-2.internal:2223'],
    ['RTPENGINE', '10.0.0.5:99999', '10.0.0.5:65535'],
    ['DRACHTIO_SERVERS', '10.0.0.1', '10.0.0.1:9022, sip-2.internal:9022'],
    ['BLOBS_URL', 's3://', 's3://bucket?endpoint=http://127.0.0.1:9000'],
    ['BLOBS_URL', 'http://bucket', '/var/blobs'],
    ['EGRESS_ALLOW', '10.0.0.0/77', '10.0.0.0/8,[fd00::1]:8080,fd00::/8'],
    ['EGRESS_ALLOW', '10.0.0', '10.0.0.1:8080'],
    ['EGRESS_ALLOW', 'tools.internal other.internal', 'tools.internal,other_one:8080'],
    ['EGRESS_ALLOW', 'http://tools.internal', 'tools.internal'],
    ['EGRESS_ALLOW', 'tools.internal:99999', 'tools.internal:65535'],
    ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'true', 'span_only'],
    ['TRUST_PROXY', '-1', '1'],
    ['TRUST_PROXY', '10.0.0.0/99', '10.0.0.0/9'],
    ['TRUST_PROXY', 'my-proxy', '192.0.2.1'],
    ['TRUST_PROXY', '0.0.0.0/0', '0.0.0.0/1'],
    ['TRUST_PROXY', '10.0.0.1,::/0', '10.0.0.1,::/1'],
    ['TRUST_PROXY', ' ', 'false'],
    ['DRAIN_SECONDS', 'soon', '0'],
    ['MODELS_URL', 'models.example', 'https://models.example/mirror'],
    ['MODELS_URL', 'ftp://models.example', 'http://models.example'],
    ['PUBLIC_URL', 'parley.example', 'https://parley.example'],
    ['REDIS_URL', 'redis', 'redis://redis:6379'],
    ['OPENAI_BASE_URL', '127.0.0.1', 'http://127.0.0.1:8000/v1'],
    ['LLM_DEFAULT', 'nobody/their-model', 'local/demo'],
    ['LLM_DEFAULT', 'local/', 'local/other'],
    ['LOCAL_LLM_URL', 'none', 'off'],
    ['LOCAL_LLM_URL', 'ftp://127.0.0.1', 'http://127.0.0.1:11434'],
    ['LOCAL_LLM_URL', 'http://me:secret@models:8000', 'https://models:8000/v1'],
    // UK is a common mistake for GB, XX is not assigned, and EU is not a country.
    ['OUTBOUND_COUNTRIES', 'UK,XX', 'GB,XK'],
    ['OUTBOUND_COUNTRIES', 'EU', 'DE,FR'],
    ['OUTBOUND_COUNTRIES', 'us', 'US'],
  ])('%s is refused as %j with its valid values, and accepted as %j', (name, bad, good) => {
    expect(problemsOf({ [name]: bad })).toEqual([expect.stringMatching(new RegExp(`^${name}: must `))]);
    expect(problemsOf({ [name]: good })).toEqual([]);
  });

  it('a Twilio account must have the form that the SDK requires', () => {
    const account = (TWILIO_ACCOUNT_SID: string) =>
      problemsOf({ TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN: 'a-secret' });
    expect(account('SK0123')).toEqual(['TWILIO_ACCOUNT_SID: must be an account id, starting with AC']);
    expect(account('AC0123')).toEqual([]);
  });

  it.each(['ROOT_API_KEY', 'WORKER_TOKEN', 'DRACHTIO_SECRET', 'METRICS_TOKEN', 'SIP_TRUNK_PASSWORD'])(
    'security 17: %s with a published example value prevents the start with one line that names it',
    (name) => {
      const others: Record<string, string> =
        name === 'SIP_TRUNK_PASSWORD' ? { SIP_TRUNK_USERNAME: 'parley' } : {};
      expect(problemsOf({ ...others, [name]: 'change-me-and-everything-behind' })).toEqual([
        `${name}: must be a secret of your own, not the published example`,
      ]);
      expect(problemsOf({ ...others, [name]: 'a-secret-that-is-not-published' })).toEqual([]);
    },
  );

  it.each([
    ['false', false],
    ['0', false],
    ['true', true],
    ['1', 1],
    ['2', 2],
    ['10.0.0.0/8, fd00::1', ['10.0.0.0/8', 'fd00::1']],
  ])('security 19: TRUST_PROXY accepts %s', (value, meant) => {
    expect(readSettings({ TRUST_PROXY: value }).TRUST_PROXY).toEqual(meant);
  });

  it('settings that only work together are required together', () => {
    expect(problemsOf({ LIVEKIT_URL: 'wss://rooms.example' })).toEqual([
      expect.stringContaining('LIVEKIT_API_KEY, LIVEKIT_API_SECRET'),
    ]);
    expect(problemsOf({ LIVEKIT_PUBLIC_URL: 'wss://rooms.example' })).toEqual([
      'LIVEKIT_PUBLIC_URL: must be set together with LIVEKIT_URL',
    ]);
    expect(problemsOf({ RTPENGINE_INTERFACES: 'public,private' })).toEqual([
      expect.stringContaining('RTPENGINE'),
    ]);
    expect(problemsOf({ RTPENGINE_INTERFACES: 'public,private', RTPENGINE: '10.0.0.5:2223' })).toEqual([]);
    expect(problemsOf({ TLS_CERT: 'cert.pem' })).toEqual([expect.stringContaining('TLS_KEY')]);
  });

  it.each([
    ['LLM_DEFAULT', 'groq/llama-3.3-70b-versatile', 'GROQ'],
    ['TTS_PROVIDER', 'cartesia', 'CARTESIA'],
    ['ASR_PROVIDER', 'deepgram', 'DEEPGRAM'],
  ])('%s is accepted as %s once the vendor has a key or a base address', (name, value, vendor) => {
    expect(problemsOf({ [name]: value })).toEqual([
      `${name}: needs ${vendor}_API_KEY, or ${vendor}_BASE_URL for a server of your own`,
    ]);
    expect(problemsOf({ [name]: value, [`${vendor}_API_KEY`]: 'k' })).toEqual([]);
    expect(problemsOf({ [name]: value, [`${vendor}_BASE_URL`]: 'http://127.0.0.1:1' })).toEqual([]);
  });

  it('a key of Azure needs the region of its resource, or an address', () => {
    expect(problemsOf({ AZURE_API_KEY: 'k' })).toEqual([
      'AZURE_REGION: must be set together with AZURE_API_KEY, or else AZURE_BASE_URL',
    ]);
    expect(problemsOf({ AZURE_API_KEY: 'k', AZURE_REGION: 'West Europe' })).toEqual([
      'AZURE_REGION: must be the short name of a region, such as westeurope',
    ]);
    expect(problemsOf({ AZURE_API_KEY: 'k', AZURE_REGION: 'westeurope' })).toEqual([]);
    expect(problemsOf({ AZURE_API_KEY: 'k', AZURE_BASE_URL: 'http://127.0.0.1:1' })).toEqual([]);
  });

  it('the key file of a service account takes the place of Google Cloud’s key', () => {
    expect(problemsOf({ ASR_PROVIDER: 'google_cloud', GOOGLE_CLOUD_KEY_FILE: '/k.json' })).toEqual([]);
  });

  it('problems never repeat a given value', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SETTING_NAMES),
        fc.stringMatching(/^[~§]secret[a-z0-9]{12}$/),
        (name, value) => {
          for (const problem of problemsOf({ [name]: value })) expect(problem).not.toContain(value);
        },
      ),
    );
  });

  it('docs/settings.md describes every setting', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/settings.md'), 'utf8');
    expect(SETTING_NAMES.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
