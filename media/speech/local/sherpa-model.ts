/**
 * Finds a streaming model for sherpa-onnx below `DATA_DIR/models`: a directory with tokens, encoder, decoder
 * and joiner.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The files of one transducer model. */
export interface SherpaModel {
  readonly name: string;
  readonly tokens: string;
  readonly encoder: string;
  readonly decoder: string;
  readonly joiner: string;
}

/** The first complete model in alphabetical order, or null. Prefers quantised files (`.int8.onnx`). */
export function findSherpaModel(dataDir: string): SherpaModel | null {
  const models = join(dataDir, 'models');
  for (const name of list(models)) {
    const files = list(join(models, name));
    const pick = (part: string) =>
      files.find((file) => file.startsWith(part) && file.endsWith('.int8.onnx')) ??
      files.find((file) => file.startsWith(part) && file.endsWith('.onnx'));
    const [encoder, decoder, joiner] = [pick('encoder'), pick('decoder'), pick('joiner')];
    if (!encoder || !decoder || !joiner || !files.includes('tokens.txt')) continue;
    const at = (file: string) => join(models, name, file);
    return { name, tokens: at('tokens.txt'), encoder: at(encoder), decoder: at(decoder), joiner: at(joiner) };
  }
  return null;
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch {
    return [];
  }
}
