/** How an agent's draft differs from its published configuration, setting by setting. Pure. */

/** A setting that differs; as text, null where it is absent. */
export interface DraftChange {
  /** `conversation.response_wait_ms`; a list is one setting. */
  readonly path: string;
  readonly published: string | null;
  readonly draft: string | null;
}

/** Every setting that differs, in the draft's order. Linear in the length of both. */
export function draftChanges(published: object, draft: object): DraftChange[] {
  const [before, after] = [settingsOf(published), settingsOf(draft)];
  return [...new Set([...after.keys(), ...before.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => ({ path, published: before.get(path) ?? null, draft: after.get(path) ?? null }));
}

/** The settings below the sections, as text by path. An empty section counts as absent. */
function settingsOf(config: object): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const [name, inner] of Object.entries(value)) walk(inner, path === '' ? name : `${path}.${name}`);
    else settings.set(path, typeof value === 'string' ? value : JSON.stringify(value));
  };
  walk(config, '');
  return settings;
}
