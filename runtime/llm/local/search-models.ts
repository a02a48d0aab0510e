/**
 * The local models of one control plane: searches their servers at the start, periodically and when asked,
 * tries each model once, and keeps what it found out in a file.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { createEgressGuard, type EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import { parseJson } from '#base/parse-json.ts';
import { type LocalModel, type LocalModels, localModel, NO_LOCAL_MODELS } from '#config/local-models.ts';
import { type FoundModel, findModels } from './find-models.ts';
import { type Tried, tryModel } from './try-model.ts';

const EVERY_MS = 60_000;
/** A search is not repeated within this time. */
const FRESH_MS = 5_000;
/** Searches asked for anew start this far apart: a tenant may name models that do not exist. */
const APART_MS = 1_000;
/** For one request; a server takes at most two in a row. */
const TIMEOUT_MS = 500;
/** Models kept: a server may invent new names without end. */
const MAX_KNOWN = 128;

/** Options of the search. */
export interface LocalSearchOptions {
  /** Base addresses of servers, without `/v1` (`localAddresses`). */
  readonly addresses: readonly string[];
  /** Where the known models are kept between starts. */
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Starts searching, and resolves after the first search. */
export async function searchLocalModels(options: LocalSearchOptions): Promise<LocalModels> {
  if (options.addresses.length === 0) return NO_LOCAL_MODELS;
  const search = new LocalSearch(options);
  await search.search();
  return search;
}

class LocalSearch implements LocalModels {
  readonly #options: LocalSearchOptions;
  readonly #guard: EgressGuard;
  readonly #known: Map<string, LocalModel>;
  readonly #ticks: Timer;
  readonly #closing = new AbortController();
  /** Ids of models tried by this process; a failed trial is repeated only when the model is wanted. */
  readonly #attempted = new Set<string>();
  readonly #failed = new Set<string>();
  #offered: readonly FoundModel[] = [];
  #unanswered: readonly string[] = [];
  #isSaved = true;
  #search: { readonly atMs: number; readonly done: Promise<void> } | null = null;
  /** A search asked for anew that has not begun. */
  #anew: Promise<void> | null = null;
  #trials: Promise<void> = Promise.resolve();

  constructor(options: LocalSearchOptions) {
    const { addresses, clock, file } = options;
    this.#options = options;
    // Tenants' requests have a guard of their own, which knows nothing of these addresses.
    this.#guard = createEgressGuard({ allow: addresses.map((address) => new URL(address).host), clock });
    const isSearched = ({ base_url }: LocalModel) => addresses.includes(base_url.replace(/\/v1$/, ''));
    this.#known = new Map(
      readKnown(file)
        .filter(isSearched)
        .map((model) => [model.id, model]),
    );
    this.#ticks = clock.every(EVERY_MS, () => void this.search());
  }

  known(): readonly LocalModel[] {
    return [...this.#known.values()];
  }

  offered(): readonly LocalModel[] {
    return this.#offered.flatMap(({ id }) => this.#known.get(id) ?? []);
  }

  unanswered(): readonly string[] {
    return this.#unanswered;
  }

  search(): Promise<void> {
    const nowMs = this.#options.clock.now();
    return this.#search === null || nowMs - this.#search.atMs >= FRESH_MS ? this.#begin() : this.#search.done;
  }

  searchAnew(): Promise<void> {
    this.#anew ??= this.#beginAnew();
    return this.#anew;
  }

  want(id: string): void {
    if (this.#failed.delete(id)) this.#attempted.delete(id);
    this.#try(id);
  }

  async close(): Promise<void> {
    this.#ticks.cancel();
    this.#closing.abort(new Error('closing'));
    await Promise.all([this.#search?.done, this.#trials]);
    await this.#guard.close();
  }

  #begin(): Promise<void> {
    const done = this.#searchNow();
    this.#search = { atMs: this.#options.clock.now(), done };
    return done;
  }

  async #beginAnew(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    if (this.#search) {
      const { atMs, done } = this.#search;
      await done;
      const restMs = atMs + APART_MS - clock.now();
      if (restMs > 0) await clock.sleep(restMs, signal).catch(() => undefined);
    }
    this.#anew = null;
    if (!signal.aborted) await this.#begin();
  }

  async #searchNow(): Promise<void> {
    const { addresses, logger } = this.#options;
    const options = { guard: this.#guard, timeoutMs: TIMEOUT_MS };
    const lists = await Promise.all(addresses.map((address) => findModels(address, options)));
    this.#unanswered = addresses.filter((_, index) => lists[index] === null);
    // Of two servers with a model of the same name, the first one has it.
    const found = new Map(
      lists
        .flatMap((list) => list?.models ?? [])
        .reverse()
        .map((model) => [model.id, model]),
    );
    for (const [index, address] of addresses.entries())
      for (const id of lists[index]?.cloudIds ?? []) this.#forget(id, `${address}/v1`);
    const before = new Set(this.#offered.map(({ id }) => id));
    this.#offered = [...found.values()].reverse();
    for (const { id, isLoaded, ...rest } of this.#offered) {
      if (!before.has(id)) logger.info({ model: id, server: rest.base_url }, 'found a local language model');
      this.#learn(id, rest);
      if (isLoaded) this.#try(id);
    }
    this.#save();
  }

  /** A model with another address or name is another model: what was found out about the old one is void. */
  #learn(id: string, found: Pick<LocalModel, 'base_url' | 'name' | 'context_tokens'>): void {
    const old = this.#known.get(id);
    const isSame = old?.base_url === found.base_url && old.name === found.name;
    const model = {
      id,
      ...found,
      context_tokens: found.context_tokens ?? (isSame ? old.context_tokens : null),
      tools: isSame ? old.tools : null,
      tokens_per_second: isSame ? old.tokens_per_second : null,
    };
    if (!isSame && old) this.#attempted.delete(id);
    if (JSON.stringify(old) !== JSON.stringify(model)) this.#keep(model);
  }

  /** An earlier process may have kept a model that runs elsewhere. */
  #forget(id: string, base_url: string): void {
    if (this.#known.get(id)?.base_url !== base_url) return;
    this.#known.delete(id);
    this.#isSaved = false;
  }

  /** Trials run one after another: a server with one processor would measure their sum. */
  #try(id: string): void {
    const model = this.#known.get(id);
    if (!model || model.tools !== null || this.#attempted.has(id)) return;
    this.#attempted.add(id);
    this.#trials = this.#trials.then(() => this.#tryNow(model));
  }

  async #tryNow(model: LocalModel): Promise<void> {
    const { clock, logger } = this.#options;
    const signal = this.#closing.signal;
    if (signal.aborted) return;
    try {
      const tried: Tried = await tryModel(model, clock, signal);
      this.#keep({ ...(this.#known.get(model.id) ?? model), ...tried });
      this.#save();
      logger.info({ model: model.id, ...tried }, 'tried a local language model');
      // A server that has just loaded the model knows its context now.
      this.#search = null;
      void this.search();
    } catch (error) {
      this.#failed.add(model.id);
      if (!signal.aborted)
        logger.warn({ model: model.id, err: error }, 'a local language model did not answer');
    }
  }

  /** Every call plan must be able to carry it. */
  #keep(found: LocalModel): void {
    const { data: model } = localModel.safeParse(found);
    if (!model) return;
    this.#known.delete(model.id);
    this.#known.set(model.id, model);
    for (const id of this.#known.keys()) if (this.#known.size > MAX_KNOWN) this.#known.delete(id);
    this.#isSaved = false;
  }

  /** Once for all models of a search. */
  #save(): void {
    if (this.#isSaved) return;
    this.#isSaved = true;
    const { file, logger } = this.#options;
    try {
      writeFileSync(`${file}.new`, JSON.stringify(this.known()), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (error) {
      logger.warn({ err: error }, 'the local language models found cannot be kept');
    }
  }
}

/** The models that an earlier process kept; none if the file is missing or cannot be read. */
function readKnown(file: string): readonly LocalModel[] {
  try {
    return parseJson(z.array(localModel), readFileSync(file, 'utf8')) ?? [];
  } catch {
    return [];
  }
}
