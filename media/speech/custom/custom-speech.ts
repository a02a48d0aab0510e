/** Creates the engines on owners' servers (`custom_speech`), each for the calls of one agent. */
import { createHash } from 'node:crypto';
import type { PlannedRecognizer, PlannedVoice } from '#config/custom-speech.ts';
import { measureFinals } from '../measured-finals.ts';
import { createDecoders } from '../pool/decoders.ts';
import type { Recognizer, Synthesizer } from '../speech.ts';
import { createHttpVoice } from './http-voice.ts';
import { createJambonzRecognizer } from './jambonz-recognizer.ts';
import { createJambonzVoice } from './jambonz-voice.ts';
import { limitWords } from './limited-words.ts';
import { Mp3Decoder } from './mp3-decoder.ts';
import { createOwnOpenaiRecognizer } from './openai-recognizer.ts';
import type { OwnServerDeps } from './own-server.ts';

/** Recognisers kept for the next call of their agent, because each learns its own speed. */
const MAX_RECOGNIZERS = 200;

/** The engines on owners' servers of one process. */
export class CustomSpeech {
  readonly #deps: OwnServerDeps;
  readonly #mp3: Mp3Decoder;
  /** The least recently used first. */
  readonly #recognizers = new Map<string, { readonly key: string | null; readonly engine: Recognizer }>();

  constructor(deps: OwnServerDeps) {
    this.#deps = deps;
    this.#mp3 = new Mp3Decoder(createDecoders({ clock: deps.clock }));
  }

  /** The recogniser of an agent. */
  recognizer(agentId: string, own: PlannedRecognizer): Recognizer {
    const id = engineId(agentId, own);
    const kept = this.#recognizers.get(id);
    this.#recognizers.delete(id);
    const entry =
      kept !== undefined && kept.key === own.api_key
        ? kept
        : { key: own.api_key, engine: measureFinals(this.#create(id, own), this.#deps.clock) };
    this.#recognizers.set(id, entry);
    const [oldest] = this.#recognizers.keys();
    if (this.#recognizers.size > MAX_RECOGNIZERS && oldest !== undefined) this.#recognizers.delete(oldest);
    return entry.engine;
  }

  /** The voice of an agent. */
  synthesizer(agentId: string, own: PlannedVoice): Synthesizer {
    const id = engineId(agentId, own);
    return isStreaming(own)
      ? createJambonzVoice(id, own, this.#deps)
      : createHttpVoice(id, own, { ...this.#deps, mp3: this.#mp3 });
  }

  #create(id: string, own: PlannedRecognizer): Recognizer {
    const create = { jambonz: createJambonzRecognizer, openai: createOwnOpenaiRecognizer }[own.protocol];
    return limitWords(create(id, own, this.#deps), this.#deps.clock);
  }
}

/** jambonz' protocol has two APIs for voices; the address says which one. */
function isStreaming({ protocol, url }: PlannedVoice): boolean {
  return protocol === 'jambonz' && /^wss?:/i.test(url);
}

/**
 * `custom:<hash>`: engines of different agents share neither their health nor the phrases they have spoken.
 * Without the key, which must not be guessable from a log.
 */
function engineId(agentId: string, { api_key: _key, ...own }: PlannedRecognizer | PlannedVoice): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([agentId, own]))
    .digest('hex');
  return `custom:${hash.slice(0, 16)}`;
}
