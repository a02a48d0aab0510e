/**
 * Selects the language model of one call: the tenant's own endpoint, a vendor's model, one of a local server,
 * or the rule-based demo.
 */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import { DEMO_MODEL_ID, isLocal, languageModelsOf, vendorOfModel } from '#config/language-models.ts';
import { platformModels } from '#config/platform-models.ts';
import { isVendorConfigured, vendorAccess } from '#config/vendor-access.ts';
import { NO_VENDOR_METERS, type VendorMeters } from '#config/vendor-meters.ts';
import { LANGUAGE_VENDORS, type LanguageVendor } from '#config/vendors.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { createCustomModel } from './custom.ts';
import { createDemoModel } from './demo.ts';
import { hedgedModel } from './hedged-model.ts';
import { type LanguageModel, ModelMissing } from './llm.ts';
import { reachesAddress } from './local/local-addresses.ts';
import { createLocalModel } from './local/local-model.ts';
import { measuredModel } from './measured-model.ts';
import { createSdkModel } from './sdk-model.ts';
import { sendByRequest } from './send-request.ts';
import { withProgressDeadline } from './stalled-fetch.ts';

const STALL_MS = 10_000;
/** A vendor's SDK requires a key; a server behind a base address may need none. */
const NO_KEY = 'none';

/** Options that select a call's model. */
export interface LanguageModelOptions {
  readonly settings: Settings;
  readonly plan: Pick<CallPlan, 'config' | 'llm_api_key' | 'local_models'>;
  readonly egress: EgressGuard;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: requests are not measured. */
  readonly vendors?: VendorMeters | undefined;
  /** No other model may answer instead: neither a backup nor the default. */
  readonly isAlone?: boolean;
}

/**
 * The model of one call. A vendor model that is no longer configured here is replaced by the deployment's
 * default, and logged; a local model that is not known fails. A late or failing vendor model is backed up by
 * another vendor's, if one has a key. Alone, it fails instead of being replaced.
 */
export function createLanguageModel(options: LanguageModelOptions): LanguageModel {
  const { settings, plan, egress, clock, logger, vendors = NO_VENDOR_METERS } = options;
  const { custom, model } = plan.config.llm;
  const measured = (one: LanguageModel) => measuredModel(one, vendors, clock);
  if (custom) return measured(createCustomModel({ custom, apiKey: plan.llm_api_key, egress, clock }));
  const modelOf = (id: string) => {
    const found = localModelOf(options, id) ?? platformModel(settings, clock, id);
    return found && measured(found);
  };
  const withFallback = (one: LanguageModel) =>
    options.isAlone ? one : hedged(one, { settings, clock, vendors, modelOf });
  const chosen = model === '' ? null : modelOf(model);
  if (chosen) return withFallback(chosen);
  if (options.isAlone && model !== '')
    return failingModel(model, `The language model ${model} is not configured here`);
  const standard =
    platformModels(settings, { localRecognition: [] }).llm.find((offered) => offered.default)?.id ??
    DEMO_MODEL_ID;
  if (model !== '')
    logger.warn({ model, fallback: standard }, 'language model is not configured here; using the default');
  return withFallback(modelOf(standard) ?? createDemoModel());
}

/** The demo is never late, and never replaces a real model; a local model stays alone (local-model.ts). */
function hedged(
  model: LanguageModel,
  {
    settings,
    clock,
    vendors,
    modelOf,
  }: {
    readonly settings: Settings;
    readonly clock: Clock;
    readonly vendors: VendorMeters;
    readonly modelOf: (id: string) => LanguageModel | null;
  },
): LanguageModel {
  if (isLocal(model.id)) return model;
  const other = LANGUAGE_VENDORS.find(
    (vendor) => !model.id.startsWith(`${vendor}/`) && vendorAccess(settings, vendor).apiKey !== undefined,
  );
  const fallback = other === undefined ? null : modelOf(`${other}/${languageModelsOf(other)[0]}`);
  return hedgedModel(model, fallback, { clock, vendors });
}

/** A local model that cannot answer here fails: no vendor gets the conversation instead. */
function localModelOf({ settings, plan, clock }: LanguageModelOptions, id: string): LanguageModel | null {
  if (!isLocal(id) || id === DEMO_MODEL_ID) return null;
  const model = plan.local_models.find((known) => known.id === id);
  if (!model) return failingModel(id, `The local model ${id} is not known: no local server has it`);
  if (!reachesAddress(settings, model.base_url))
    return failingModel(
      id,
      `The local model ${id} is on the loopback of another machine: ` +
        'set LOCAL_LLM_URL to an address that every worker reaches',
    );
  return createLocalModel({ model, clock, stallMs: STALL_MS });
}

function failingModel(id: string, message: string): LanguageModel {
  return {
    id,
    isCustom: false,
    // biome-ignore lint/correctness/useYield: it only throws
    async *stream() {
      throw new ModelMissing(message);
    },
  };
}

/** The model of a vendor, or the demo; null when this deployment does not have it. */
function platformModel(settings: Settings, clock: Clock, id: string): LanguageModel | null {
  if (id === DEMO_MODEL_ID) return createDemoModel();
  const vendor = vendorOfModel(id);
  if (vendor === null || !isVendorConfigured(settings, vendor)) return null;
  const name = id.slice(vendor.length + 1);
  const { apiKey = NO_KEY, baseUrl } = vendorAccess(settings, vendor);
  // Created by the first request: it costs more than the rest of a call's start, and a caller may never join.
  let model: ReturnType<typeof sdkModel> | null = null;
  const modelFor = () => {
    model ??= sdkModel({
      vendor,
      name,
      apiKey,
      baseUrl,
      fetch: withProgressDeadline(sendByRequest, clock, STALL_MS),
    });
    return model;
  };
  return createSdkModel({
    id,
    isCustom: false,
    modelFor,
    startsWithUser: vendor === 'anthropic' || vendor === 'google',
  });
}

/** Base addresses follow the vendor's own SDK: OpenAI's ends in /v1, the others have no path. */
function sdkModel(at: {
  vendor: LanguageVendor;
  name: string;
  apiKey: string;
  baseUrl: string | undefined;
  fetch: typeof globalThis.fetch;
}) {
  const { vendor, name, apiKey, fetch } = at;
  switch (vendor) {
    case 'openai':
      return createOpenAICompatible({
        name: vendor,
        baseURL: at.baseUrl ?? 'https://api.openai.com/v1',
        apiKey,
        fetch,
        includeUsage: true,
      })(name);
    case 'groq':
      return createOpenAICompatible({
        name: vendor,
        baseURL: `${at.baseUrl ?? 'https://api.groq.com'}/openai/v1`,
        apiKey,
        fetch,
        includeUsage: true,
      })(name);
    case 'anthropic':
      return createAnthropic({ baseURL: `${at.baseUrl ?? 'https://api.anthropic.com'}/v1`, apiKey, fetch })(
        name,
      );
    case 'google':
      return createGoogle({
        baseURL: `${at.baseUrl ?? 'https://generativelanguage.googleapis.com'}/v1beta`,
        apiKey,
        fetch,
      })(name);
  }
}
