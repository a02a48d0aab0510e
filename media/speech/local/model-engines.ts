/** The engines of the installed models, created when a model is first found and kept for later calls. */
import type { Clock } from '#base/clock.ts';
import type { InstalledModels, InstalledRecogniser } from '../models/installed-models.ts';
import { createSherpa, type SherpaRecognizer } from './sherpa.ts';
import { createSherpaVoice, type SherpaVoice } from './sherpa-voice.ts';

/** The engines of one process. */
export class ModelEngines {
  readonly #installed: () => InstalledModels;
  readonly #clock: Clock;
  readonly #recognisers = new Map<string, SherpaRecognizer>();
  readonly #voices = new Map<string, SherpaVoice>();

  constructor(installed: () => InstalledModels, clock: Clock) {
    this.#installed = installed;
    this.#clock = clock;
  }

  /**
   * The recogniser for a language (ISO 639-1): a model of that language, or else one whose languages are
   * unknown. Null: the same for English, or else any model, if no other engine hears the language better.
   */
  recogniser(language: string | null): SherpaRecognizer | null {
    const { recognisers } = this.#installed();
    const found =
      recognisers.find(({ languages }) => languages.includes(language ?? 'en')) ??
      recognisers.find(({ languages }) => languages.length === 0) ??
      (language === null ? recognisers[0] : undefined);
    return found ? this.#opened(found) : null;
  }

  /** Loads a recogniser before its first call; any other id is ignored. */
  prepare(id: string): void {
    const model = this.#installed().recognisers.find((recogniser) => recogniser.id === id);
    if (model) this.#opened(model).prepare();
  }

  /** The synthesisers of the installed voices. */
  voices(): SherpaVoice[] {
    return this.#installed().voices.map((voice) => {
      const engine = this.#voices.get(voice.id) ?? createSherpaVoice(voice, this.#clock);
      this.#voices.set(voice.id, engine);
      return engine;
    });
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#recognisers.values(), ...this.#voices.values()].map((engine) => engine.close()),
    );
  }

  #opened({ id, files }: InstalledRecogniser): SherpaRecognizer {
    const engine = this.#recognisers.get(id) ?? createSherpa(files, this.#clock);
    this.#recognisers.set(id, engine);
    return engine;
  }
}
