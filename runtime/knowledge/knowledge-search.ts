/**
 * Searches knowledge above 8 KB before every reply, within a fixed time; without a result in time the turn is
 * answered without it. The index lives on a thread of its own, started by the first call that needs one.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { LIMITS } from '#config/limits.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Passage } from './knowledge-index.ts';

/** Longest delay of a reply by a search. */
const BUDGET_MS = 30;

/** A request to the knowledge thread. */
export type KnowledgeRequest =
  | { readonly do: 'open'; readonly call: number; readonly sources: CallPlan['knowledge'] }
  | { readonly do: 'search'; readonly call: number; readonly id: number; readonly query: string }
  | { readonly do: 'close'; readonly call: number };

/** The thread's answer to a search. */
export interface KnowledgeAnswer {
  readonly id: number;
  readonly passages: readonly Passage[];
}

/** The searchable knowledge of one call. */
export interface CallKnowledge {
  /** Null when the time ran out or the index is not ready. Never rejects. */
  search(query: string): Promise<readonly Passage[] | null>;
  close(): void;
}

/** Knowledge of a worker's calls. */
export interface KnowledgeSearch {
  /**
   * Null without anything to search: nothing attached, or all of it in the prompt. A search takes at most
   * `budgetMs`; absent: as long as a caller on the phone may wait.
   */
  open(plan: Pick<CallPlan, 'config' | 'knowledge'>, budgetMs?: number): CallKnowledge | null;
  close(): Promise<void>;
}

/** True when a plan's sources fit into its prompt. */
export function isInlined(knowledge: CallPlan['knowledge']): boolean {
  return (
    knowledge.reduce((sum, source) => sum + Buffer.byteLength(source.content), 0) <=
    LIMITS.knowledgeInlineBytes
  );
}

/** Creates a worker's knowledge search; its thread starts on first use. */
export function createKnowledgeSearch({
  clock,
  logger,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
}): KnowledgeSearch {
  const waiting = new Map<number, (passages: readonly Passage[] | null) => void>();
  let thread: Worker | null = null;
  let lastCall = 0;
  let lastSearch = 0;

  function ask(request: KnowledgeRequest): void {
    thread ??= start();
    thread.postMessage(request);
  }

  function start(): Worker {
    const worker = new Worker(new URL('./knowledge-thread-entry.ts', import.meta.url), {
      execArgv: [],
      name: 'knowledge',
    });
    worker.on('message', ({ id, passages }: KnowledgeAnswer) => waiting.get(id)?.(passages));
    worker.on('error', (error) => {
      // Running calls continue without their knowledge; the next call starts a new thread.
      logger.error({ err: error }, 'knowledge thread failed');
      thread = null;
    });
    worker.unref();
    return worker;
  }

  function search(call: number, query: string, budgetMs: number): Promise<readonly Passage[] | null> {
    lastSearch += 1;
    const id = lastSearch;
    return new Promise((resolve) => {
      const settle = (passages: readonly Passage[] | null) => {
        waiting.delete(id);
        timer.cancel();
        resolve(passages);
      };
      const timer = clock.after(budgetMs, () => settle(null));
      waiting.set(id, settle);
      ask({ do: 'search', call, id, query });
    });
  }

  return {
    open({ config, knowledge }, budgetMs = BUDGET_MS) {
      if (!config.knowledge_base.enabled || knowledge.length === 0 || isInlined(knowledge)) return null;
      lastCall += 1;
      const call = lastCall;
      ask({ do: 'open', call, sources: knowledge });
      return { search: (query) => search(call, query, budgetMs), close: () => ask({ do: 'close', call }) };
    },
    async close() {
      await thread?.terminate();
      thread = null;
    },
  };
}
