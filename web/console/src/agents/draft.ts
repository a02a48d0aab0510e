/**
 * The draft being edited: a working copy of the configuration, what has changed in it, and how it differs
 * from what callers get.
 */
import type { AgentConfig } from '../api/types.ts';

/** Sections of a configuration. */
export type Section = Exclude<keyof AgentConfig, 'agent_id' | 'config_hash' | 'updated_at'>;

/** Changes fields of one section of the working copy. */
export type SetSection = <Name extends Section>(name: Name, patch: Partial<AgentConfig[Name]>) => void;

/** What every part of the editor is given. */
export interface EditorProps {
  readonly config: AgentConfig;
  readonly set: SetSection;
}

const NOT_CONFIGURED = new Set(['agent_id', 'config_hash', 'updated_at']);

/** Sections that differ from what was loaded: the body of a change. Null when nothing does. */
export function changedSections(saved: AgentConfig, edited: AgentConfig): Record<string, unknown> | null {
  const changed = sectionsOf(edited).filter(
    (name) => JSON.stringify(saved[name]) !== JSON.stringify(edited[name]),
  );
  if (changed.length === 0) return null;
  return Object.fromEntries(
    changed.map((name) => [name, name === 'llm' ? llmPatch(edited.llm) : edited[name]]),
  );
}

/** One leaf that differs. */
export interface Difference {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** Every leaf in which two configurations differ; lists are compared as wholes. */
export function differences(before: AgentConfig, after: AgentConfig): Difference[] {
  const [old, fresh] = [leaves(before), leaves(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((path) => old.get(path) !== fresh.get(path))
    .map((path) => ({ path, before: old.get(path) ?? '', after: fresh.get(path) ?? '' }));
}

/** A snapshot's sections as a change that puts them back. */
export function restorePatch(snapshot: AgentConfig): Record<string, unknown> {
  return Object.fromEntries(
    sectionsOf(snapshot).map((name) => [name, name === 'llm' ? llmPatch(snapshot.llm) : snapshot[name]]),
  );
}

/** A custom model and one of the platform exclude each other. */
function llmPatch(llm: AgentConfig['llm']): Record<string, unknown> {
  return llm.custom === null ? { model: llm.model, custom: null } : { custom: llm.custom };
}

function sectionsOf(config: AgentConfig): Section[] {
  return Object.keys(config).filter((name) => !NOT_CONFIGURED.has(name)) as Section[];
}

function leaves(config: AgentConfig): Map<string, string> {
  const found = new Map<string, string>();
  const walk = (value: unknown, path: string) => {
    if (
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.keys(value).length > 0
    ) {
      for (const [name, inner] of Object.entries(value)) walk(inner, path === '' ? name : `${path}.${name}`);
    } else found.set(path, typeof value === 'string' ? value : JSON.stringify(value));
  };
  for (const name of sectionsOf(config)) walk(config[name], name);
  return found;
}
