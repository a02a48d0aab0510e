/** Contradictions between settings that are valid by themselves, such as a key without its certificate. */
import { DEMO_MODEL_ID, isLocal, isModelAllowed, vendorOfModel } from './language-models.ts';
import { isVendorConfigured, type VendorSettings } from './vendor-access.ts';
import type { Vendor } from './vendors.ts';

type Paired =
  | 'LIVEKIT_URL'
  | 'LIVEKIT_PUBLIC_URL'
  | 'LIVEKIT_API_KEY'
  | 'LIVEKIT_API_SECRET'
  | 'TWILIO_ACCOUNT_SID'
  | 'TWILIO_AUTH_TOKEN'
  | 'TLS_CERT'
  | 'TLS_KEY'
  | 'SIP_TLS_CERT'
  | 'SIP_TLS_KEY'
  | 'SIP_TRUNK_USERNAME'
  | 'SIP_TRUNK_PASSWORD';

/** The settings (env.ts) that are checked against each other. */
interface CheckedSettings extends VendorSettings, Readonly<Partial<Record<Paired, string | undefined>>> {
  readonly RTPENGINE: readonly unknown[];
  readonly RTPENGINE_INTERFACES?: unknown;
  readonly MASTER_KEY?: string | undefined;
  readonly MASTER_KEY_OLD: readonly string[];
  readonly AZURE_REGION?: string | undefined;
  readonly LLM_DEFAULT?: string | undefined;
  readonly LOCAL_LLM_URL?: string | undefined;
  readonly LLM_ALLOWED?: readonly string[] | undefined;
  readonly TTS_PROVIDER: Vendor | 'local';
  readonly ASR_PROVIDER: Vendor | 'local' | null;
  readonly RTP_PORT_MIN: number;
  readonly RTP_PORT_MAX: number;
}

/** Returns one line per contradiction, naming the setting. */
export function contradictions(settings: CheckedSettings): string[] {
  const problems: string[] = [];
  const together = (names: readonly (keyof CheckedSettings)[]) => {
    const missing = names.filter((name) => settings[name] === undefined);
    if (missing.length > 0 && missing.length < names.length)
      problems.push(
        `${missing.join(', ')}: must be set together with ` +
          `${names.filter((name) => !missing.includes(name)).join(', ')}`,
      );
  };
  together(['LIVEKIT_URL', 'LIVEKIT_API_KEY', 'LIVEKIT_API_SECRET']);
  if (settings.LIVEKIT_PUBLIC_URL !== undefined && settings.LIVEKIT_URL === undefined)
    problems.push('LIVEKIT_PUBLIC_URL: must be set together with LIVEKIT_URL');
  together(['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN']);
  together(['TLS_CERT', 'TLS_KEY']);
  together(['SIP_TLS_CERT', 'SIP_TLS_KEY']);
  together(['SIP_TRUNK_USERNAME', 'SIP_TRUNK_PASSWORD']);
  if (settings.MASTER_KEY_OLD.length > 0 && settings.MASTER_KEY === undefined)
    problems.push('MASTER_KEY_OLD: must be set together with MASTER_KEY');
  if (settings.RTPENGINE_INTERFACES !== undefined && settings.RTPENGINE.length === 0)
    problems.push('RTPENGINE_INTERFACES: must be set together with RTPENGINE');
  const needs = (name: keyof CheckedSettings, vendor: Vendor | 'local' | null) => {
    if (vendor === null || vendor === 'local' || isVendorConfigured(settings, vendor)) return;
    const prefix = vendor.toUpperCase();
    const file = vendor === 'google_cloud' ? ', GOOGLE_CLOUD_KEY_FILE' : '';
    problems.push(`${name}: needs ${prefix}_API_KEY${file}, or ${prefix}_BASE_URL for a server of your own`);
  };
  const { LLM_DEFAULT = DEMO_MODEL_ID } = settings;
  needs('LLM_DEFAULT', vendorOfModel(LLM_DEFAULT));
  if (settings.LOCAL_LLM_URL === 'off' && isLocal(LLM_DEFAULT) && LLM_DEFAULT !== DEMO_MODEL_ID)
    problems.push('LLM_DEFAULT: must not be a local model while LOCAL_LLM_URL is off');
  if (settings.LLM_DEFAULT !== undefined && !isModelAllowed(settings.LLM_ALLOWED, LLM_DEFAULT))
    problems.push('LLM_DEFAULT: must be one of LLM_ALLOWED');
  needs('TTS_PROVIDER', settings.TTS_PROVIDER);
  needs('ASR_PROVIDER', settings.ASR_PROVIDER);
  const { AZURE_API_KEY, AZURE_BASE_URL, AZURE_REGION } = settings;
  if (AZURE_API_KEY !== undefined && AZURE_BASE_URL === undefined && AZURE_REGION === undefined)
    problems.push('AZURE_REGION: must be set together with AZURE_API_KEY, or else AZURE_BASE_URL');
  if (settings.RTP_PORT_MAX - settings.RTP_PORT_MIN < 9)
    problems.push('RTP_PORT_MAX: must be at least 9 above RTP_PORT_MIN');
  return problems;
}
