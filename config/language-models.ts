/** The language models agents can use: their vendors, sizes and prices. */
import { LANGUAGE_VENDORS, type LanguageVendor, type ModelFacts, VENDORS } from './vendors.ts';

/** The rule-based model that needs no vendor. */
export const DEMO_MODEL_ID = 'local/demo';

const LOCAL_PREFIX = 'local/';

/** Context size assumed for a self-hosted model: most have at least this many tokens. */
const UNKNOWN_CONTEXT_TOKENS = 32_768;

/** Assumed for a model without a list price: above every listed one. */
const UNKNOWN_PRICE: ModelFacts['price'] = { input: 5_000_000, cached: 5_000_000, output: 25_000_000 };

/** Models that a vendor serves, its default first. */
export function languageModelsOf(vendor: LanguageVendor): readonly [string, ...string[]] {
  return Object.keys(VENDORS[vendor].languageModels) as [string, ...string[]];
}

/** The vendor of `<vendor>/<model>`, even if the model is not listed; null if there is no such vendor. */
export function vendorOfModel(id: string): LanguageVendor | null {
  const name = /^([^/]+)\/./.exec(id)?.[1] ?? '';
  return LANGUAGE_VENDORS.find((vendor) => vendor === name) ?? null;
}

/** True for a model without a vendor: one of a local server, or the demo. */
export function isLocal(id: string): boolean {
  return id.startsWith(LOCAL_PREFIX);
}

/**
 * Whether an operator's list allows a model: by its id, or by `<provider>/*`. The free rule-based model is
 * always allowed; without a list every model is.
 */
export function isModelAllowed(allowed: readonly string[] | undefined, id: string): boolean {
  return (
    allowed === undefined ||
    id === DEMO_MODEL_ID ||
    allowed.includes(id) ||
    allowed.includes(`${id.split('/')[0]}/*`)
  );
}

/** Size of a model's context: prompt and answer together, in tokens. */
export function contextTokensOf(modelId: string): number {
  return factsOf(modelId)?.contextTokens ?? UNKNOWN_CONTEXT_TOKENS;
}

/** A model's list price; null if unknown. */
export function priceOf(modelId: string): ModelFacts['price'] | null {
  return factsOf(modelId)?.price ?? null;
}

/**
 * List price of a generation in micro-dollars, rounded up. A model of unknown price counts as expensive; one
 * without a vendor is free.
 */
export function costOf(
  modelId: string,
  tokens: { readonly inputTokens: number | null; readonly outputTokens: number | null },
): number {
  if (isLocal(modelId)) return 0;
  const price = priceOf(modelId) ?? UNKNOWN_PRICE;
  return Math.ceil(
    ((tokens.inputTokens ?? 0) * price.input + (tokens.outputTokens ?? 0) * price.output) / 1_000_000,
  );
}

function factsOf(modelId: string): ModelFacts | null {
  const vendor = vendorOfModel(modelId);
  if (vendor === null) return null;
  const models: Readonly<Record<string, ModelFacts>> = VENDORS[vendor].languageModels;
  const name = modelId.slice(vendor.length + 1);
  return Object.hasOwn(models, name) ? (models[name] ?? null) : null;
}
