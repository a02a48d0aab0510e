/** The language models agents can be given: whose they are, and what each vendor is known to serve. */

/**
 * Vendors of language models, in the order in which a key makes one the default, with models each is known to
 * serve.
 */
export const LANGUAGE_MODELS = {
  openai: ['gpt-4.1-mini', 'gpt-4.1', 'gpt-4o-mini'],
  anthropic: ['claude-haiku-4-5', 'claude-sonnet-5-5'],
  google: ['gemini-2.5-flash-lite', 'gemini-3.8-flash'],
  groq: ['llama-3.3-70b-versatile', 'llama-3.1-8b-instant'],
} as const;

/** A vendor of language models. */
export type LanguageVendor = keyof typeof LANGUAGE_MODELS;

/** The rule-based model that needs no vendor. */
export const DEMO_MODEL_ID = 'local/demo';

/** Whose model `<vendor>/<model>` is, whether it is known to be served or not; null for nobody's. */
export function vendorOfModel(id: string): LanguageVendor | null {
  const vendor = /^([^/]+)\/./.exec(id)?.[1] ?? '';
  return Object.hasOwn(LANGUAGE_MODELS, vendor) ? (vendor as LanguageVendor) : null;
}

/**
 * Whether an operator's list allows a model: by its id, or all of its provider as `<provider>/*`. The
 * rule-based model costs nothing and always is; without a list every one is.
 */
export function isModelAllowed(allowed: readonly string[] | undefined, id: string): boolean {
  return (
    allowed === undefined ||
    id === DEMO_MODEL_ID ||
    allowed.includes(id) ||
    allowed.includes(`${id.split('/')[0]}/*`)
  );
}
