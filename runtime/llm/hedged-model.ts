/**
 * Hedges a platform model: if it has not begun after two seconds, or fails before it begins, a second attempt
 * starts in parallel, on another vendor's model where one is configured. The first to begin wins; the other
 * is abandoned. If neither begins, the generation fails for good: two attempts were made, and the caller has
 * waited long enough. Never used for `llm.custom`, which has ten seconds and no replacement.
 */
import type { Clock } from '#base/clock.ts';
import type { VendorMeters } from '#config/vendor-meters.ts';
import { type ChatDelta, type ChatRequest, type LanguageModel, ModelError } from './llm.ts';
import { ModelStalled } from './stalled-fetch.ts';

/** After this long without a first byte, a second attempt starts. */
const SECOND_AFTER_MS = 2_000;
/**
 * Neither attempt has begun: a hold line was spoken at three seconds, and a second hold line must not follow.
 */
const GIVEN_UP_AFTER_MS = 7_000;

/** Shared, because most attempts end with it. */
const ABANDONED = new Error('another attempt answered');

interface Attempt {
  readonly model: LanguageModel;
  readonly deltas: AsyncIterator<ChatDelta>;
  readonly abort: AbortController;
}

interface Winner {
  readonly attempt: Attempt;
  readonly first: IteratorResult<ChatDelta>;
  /** The other attempt failed first. */
  readonly isFailover: boolean;
}

/**
 * Wraps the models of one call. Without a `fallback` the second attempt uses the same model, and only when it
 * is late: failures are retried by the turn loop.
 */
export function hedgedModel(
  primary: LanguageModel,
  fallback: LanguageModel | null,
  { clock, vendors }: { readonly clock: Clock; readonly vendors: Pick<VendorMeters, 'failedOver'> },
): LanguageModel {
  let order: readonly [LanguageModel, LanguageModel] = [primary, fallback ?? primary];
  return {
    id: primary.id,
    isCustom: false,
    async *stream(request) {
      const race = new Race(order, request);
      const timers = [
        clock.after(SECOND_AFTER_MS, () => race.startSecond()),
        clock.after(GIVEN_UP_AFTER_MS, () => race.giveUp()),
      ];
      const cancelTimers = () => {
        for (const timer of timers) timer.cancel();
      };
      try {
        const { attempt, first, isFailover } = await race.winner;
        cancelTimers();
        race.abandonAllBut(attempt);
        if (attempt.model !== order[0]) vendors.failedOver('model', order[0].id);
        // A model that failed where the other answered goes second for the rest of the call.
        if (isFailover) order = [order[1], order[0]];
        const { deltas, model } = attempt;
        for (let next = first; !next.done; next = await deltas.next())
          yield next.value.type === 'finish' && model !== primary
            ? { ...next.value, modelId: model.id }
            : next.value;
      } finally {
        cancelTimers();
        race.abandonAllBut(null);
      }
    },
  };
}

/** Up to two attempts at one request; the first to yield anything wins. */
class Race {
  readonly winner: Promise<Winner>;
  readonly #settle = Promise.withResolvers<Winner>();
  readonly #attempts: Attempt[] = [];
  readonly #second: LanguageModel;
  readonly #isSameModel: boolean;
  readonly #request: ChatRequest;
  readonly #failures: unknown[] = [];

  constructor([first, second]: readonly [LanguageModel, LanguageModel], request: ChatRequest) {
    this.winner = this.#settle.promise;
    this.#second = second;
    this.#isSameModel = first === second;
    this.#request = request;
    this.#begin(first);
  }

  startSecond(): void {
    if (this.#attempts.length === 1) this.#begin(this.#second);
  }

  giveUp(): void {
    this.#settle.reject(
      new ModelError(`The model did not start to answer within ${GIVEN_UP_AFTER_MS / 1_000} s, asked twice`, {
        retryable: false,
      }),
    );
    // Not abandoned: they are given up because they stalled, and count as that.
    const stalled = new ModelStalled(GIVEN_UP_AFTER_MS);
    for (const { abort } of this.#attempts) abort.abort(stalled);
  }

  abandonAllBut(winner: Attempt | null): void {
    for (const attempt of this.#attempts) {
      if (attempt === winner) continue;
      attempt.abort.abort(ABANDONED);
      // The signal ends it; its own error is of no use.
      attempt.deltas.return?.().catch(() => undefined);
    }
  }

  #begin(model: LanguageModel): void {
    const abort = new AbortController();
    const signal = AbortSignal.any([this.#request.signal, abort.signal]);
    const attempt = {
      model,
      abort,
      deltas: model.stream({ ...this.#request, signal })[Symbol.asyncIterator](),
    };
    this.#attempts.push(attempt);
    attempt.deltas.next().then(
      (first) => this.#settle.resolve({ attempt, first, isFailover: this.#failures.length > 0 }),
      (error: unknown) => this.#failed(error),
    );
  }

  #failed(error: unknown): void {
    this.#failures.push(error);
    if (this.#request.signal.aborted) this.#settle.reject(this.#request.signal.reason);
    else if (this.#attempts.length === 1 && !this.#isSameModel) this.startSecond();
    else if (this.#failures.length === this.#attempts.length) this.#settle.reject(this.#failures[0]);
  }
}
