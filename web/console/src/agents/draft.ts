/**
 * The draft in the editor: a working copy of the configuration, its changes, and its differences from the
 * published version.
 */
import type { AgentConfig } from '../api/types.ts';

/** Sections of a configuration. */
export type Section = Exclude<keyof AgentConfig, 'agent_id' | 'config_hash' | 'updated_at'>;

/** Changed fields; one that a section may lack is removed by undefined. */
type Patch<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };

/** Changes fields in one section of the working copy. */
export type SetSection = <Name extends Section>(name: Name, patch: Patch<AgentConfig[Name]>) => void;

/** Props of every part of the editor. */
export interface EditorProps {
  readonly config: AgentConfig;
  readonly set: SetSection;
}

const NOT_CONFIGURED = new Set(['agent_id', 'config_hash', 'updated_at']);

/** The meaning of a configuration without `press_keys`. */
export const NO_KEYS: NonNullable<AgentConfig['press_keys']> = { enabled: false, hide_keys: false };

/** The meaning of a configuration without `automated_lines`. */
export const NO_LINES: NonNullable<AgentConfig['automated_lines']> = {
  enabled: false,
  introduction: '',
  hold_max_seconds: 900,
  menu_max_repeats: 3,
  voicemail_recording_url: '',
};

/** The meaning of sections that a configuration may lack. */
const ABSENT: { readonly [Name in Section]?: AgentConfig[Name] } = {
  tool_servers: { tool_server_ids: [] },
  answer_hints: { enabled: false },
  press_keys: NO_KEYS,
  automated_lines: NO_LINES,
  scorecard: {},
  custom_speech: {},
};

/** Sections that differ from the loaded configuration, as the body of a PATCH. Null if none differ. */
export function changedSections(saved: AgentConfig, edited: AgentConfig): Record<string, unknown> | null {
  const changed = sectionsOf(edited).filter(
    (name) => JSON.stringify(saved[name] ?? ABSENT[name]) !== JSON.stringify(edited[name]),
  );
  if (changed.length === 0) return null;
  return Object.fromEntries(changed.map((name) => [name, sectionPatch(edited, name)]));
}

function sectionPatch(edited: AgentConfig, name: Section): unknown {
  if (name === 'llm') return llmPatch(edited.llm);
  return name === 'custom_speech' ? speechPatch(edited.custom_speech) : edited[name];
}

/** A leaf that differs. */
export interface Difference {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** All leaves in which two configurations differ. Lists are compared as a whole. */
export function differences(before: AgentConfig, after: AgentConfig): Difference[] {
  const [old, fresh] = [leaves(before), leaves(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((path) => old.get(path) !== fresh.get(path))
    .map((path) => ({ path, before: old.get(path) ?? '', after: fresh.get(path) ?? '' }));
}

/** The sections of a snapshot as a PATCH that restores them. */
export function restorePatch(snapshot: AgentConfig): Record<string, unknown> {
  const { custom_speech: speech } = snapshot;
  return {
    ...Object.fromEntries(
      sectionsOf(snapshot).map((name) => [name, name === 'llm' ? llmPatch(snapshot.llm) : snapshot[name]]),
    ),
    // A part that the snapshot does not have is removed.
    custom_speech: speech ? { asr: null, tts: null, ...speech } : null,
    tool_servers: snapshot.tool_servers ?? null,
    answer_hints: snapshot.answer_hints ?? null,
    press_keys: snapshot.press_keys ?? null,
    automated_lines: snapshot.automated_lines ?? null,
    scorecard: snapshot.scorecard ?? null,
  };
}

/** Null removes a part. Without `has_secret` the API asks for the key of a part that is new. */
function speechPatch({ asr, tts }: AgentConfig['custom_speech'] = {}): Record<string, unknown> {
  return { asr: asr ? withoutSecret(asr) : null, tts: tts ? withoutSecret(tts) : null };
}

function withoutSecret({ has_secret: _, ...server }: { readonly has_secret: boolean }): object {
  return server;
}

/** A custom model and a platform model are mutually exclusive. */
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
