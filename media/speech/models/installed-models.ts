/**
 * Finds the models below `DATA_DIR/models`: a directory with tokens, encoder, decoder and joiner is a
 * streaming recogniser, one with tokens and a single model is a voice. A model of the table counts once all
 * its files have their length; any other is the operator's own.
 */
import { readdirSync, readFileSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import type { SpeechModel } from './model-table.ts';

/** The files of a streaming transducer. */
export interface RecogniserFiles {
  readonly tokens: string;
  readonly encoder: string;
  readonly decoder: string;
  readonly joiner: string;
}

/** The files of a VITS voice; no lexicon if the model reads letters. */
export interface VoiceFiles {
  readonly tokens: string;
  readonly model: string;
  readonly lexicon: string | null;
}

/** A complete model. */
interface Installed {
  /** Name of its directory. */
  readonly id: string;
  readonly title: string;
  /** Codes of ISO 639-1; empty if unknown. */
  readonly languages: readonly string[];
}

/** An installed recogniser. */
export interface InstalledRecogniser extends Installed {
  readonly files: RecogniserFiles;
}

/** An installed voice. */
export interface InstalledVoice extends Installed {
  readonly files: VoiceFiles;
}

/** All of them: the operator's own in alphabetical order, then those of the table in its order. */
export interface InstalledModels {
  readonly recognisers: readonly InstalledRecogniser[];
  readonly voices: readonly InstalledVoice[];
}

const SPEED_FILE = 'speed.json';
const speed = z.object({ real_time_factor: z.number().positive() });
/** Calls and requests look often, and models seldom change: a copy by hand is seen this much later. */
const LOOK_AGAIN_MS = 500;

/** Where the models are. */
export function modelsDirectory(dataDir: string): string {
  return join(dataDir, 'models');
}

/** Looks for models whenever asked; one that is moved into its place is seen at once. */
export function watchModels(
  dataDir: string,
  table: readonly SpeechModel[],
  clock: Clock,
): () => InstalledModels {
  const directory = modelsDirectory(dataDir);
  let seen: { readonly models: InstalledModels; readonly atMs: number; readonly changedMs: number } | null =
    null;
  return () => {
    const atMs = clock.now();
    const changedMs = statOf(directory)?.mtimeMs ?? 0;
    if (!seen || changedMs !== seen.changedMs || atMs - seen.atMs >= LOOK_AGAIN_MS)
      seen = { models: findInstalledModels(dataDir, table), atMs, changedMs };
    return seen.models;
  };
}

/** Looks for models. */
export function findInstalledModels(dataDir: string, table: readonly SpeechModel[]): InstalledModels {
  const recognisers: InstalledRecogniser[] = [];
  const voices: InstalledVoice[] = [];
  const directory = modelsDirectory(dataDir);
  const rank = (id: string) => table.findIndex((model) => model.id === id);
  const names = list(directory).filter((name) => !name.startsWith('.'));
  for (const id of names.sort((one, other) => rank(one) - rank(other))) {
    const offered = table.find((model) => model.id === id);
    if (offered && !isComplete(dataDir, offered)) continue;
    const about = { id, title: offered?.title ?? id, languages: offered?.languages ?? [] };
    const place = join(directory, id);
    const recogniser = recogniserIn(place);
    const voice = recogniser ? null : voiceIn(place);
    if (recogniser) recognisers.push({ ...about, files: recogniser });
    else if (voice) voices.push({ ...about, files: voice });
  }
  return { recognisers, voices };
}

/** True if every file of the model is in its place with the right length; nothing is read. */
export function isComplete(dataDir: string, { id, files }: Pick<SpeechModel, 'id' | 'files'>): boolean {
  return files.every(({ name, bytes }) => {
    const found = statOf(join(modelsDirectory(dataDir), id, name));
    return found?.isFile() === true && found.size === bytes;
  });
}

/** The files of a streaming recogniser in a directory, or null. Prefers quantised files (`.int8.onnx`). */
export function recogniserIn(directory: string): RecogniserFiles | null {
  const files = list(directory);
  const pick = (part: string) =>
    files.find((file) => file.startsWith(part) && file.endsWith('.int8.onnx')) ??
    files.find((file) => file.startsWith(part) && file.endsWith('.onnx'));
  const [encoder, decoder, joiner] = [pick('encoder'), pick('decoder'), pick('joiner')];
  if (!encoder || !decoder || !joiner || !files.includes('tokens.txt')) return null;
  const at = (file: string) => join(directory, file);
  return { tokens: at('tokens.txt'), encoder: at(encoder), decoder: at(decoder), joiner: at(joiner) };
}

/** The files of a voice in a directory, or null. */
export function voiceIn(directory: string): VoiceFiles | null {
  const files = list(directory);
  const models = files.filter((file) => file.endsWith('.onnx'));
  const [model] = models;
  if (model === undefined || models.length > 1 || !files.includes('tokens.txt')) return null;
  const lexicon = files.includes('lexicon.txt') ? join(directory, 'lexicon.txt') : null;
  return { tokens: join(directory, 'tokens.txt'), model: join(directory, model), lexicon };
}

/** The measured real-time factor of an installed model: processing time per time of audio. Null: unknown. */
export function readSpeed(dataDir: string, id: string): number | null {
  try {
    const text = readFileSync(join(modelsDirectory(dataDir), id, SPEED_FILE), 'utf8');
    return parseJson(speed, text)?.real_time_factor ?? null;
  } catch {
    return null;
  }
}

/** The content and name of the file that keeps a measurement. */
export function speedFile(realTimeFactor: number): { readonly name: string; readonly text: string } {
  return { name: SPEED_FILE, text: `${JSON.stringify({ real_time_factor: realTimeFactor })}\n` };
}

/** Null for whatever cannot be read: a folder of another user must not stop a worker. */
function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}
