/**
 * Knowledge above 8 KB at run time: before every reply the caller's latest words are searched for, within a
 * fixed time; when that is not enough, the turn is answered without. The index lives on a thread of its own,
 * started by the first call that needs one.
 */
import { Worker } from 'node:worker_threads';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { LIMITS } from '#config/limits.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Passage } from './knowledge-index.ts';

/** How long a search may hold a reply. */
const BUDGET_MS = 30;

/** What the thread is asked. */
export type KnowledgeRequest =
  | { readonly do: 'open'; readonly call: number; readonly sources: CallPlan['knowledge'] }
  | { readonly do: 'search'; readonly call: number; readonly id: number; readonly query: string }
  | { readonly do: 'close'; readonly call: number };

/** What it answers to a search. */
export interface KnowledgeAnswer {
  readonly id: number;
  readonly passages: readonly Passage[];
}

/** The searchable knowledge of one call. */
export interface CallKnowledge {
  /** Null when the time was up, or the index is not there yet. Never rejects. */
  search(query: string): Promise<readonly Passage[] | null>;
  close(): void;
}

/** The knowledge of a worker's calls. */
export interface KnowledgeSearch {
  /** Null where there is nothing to search: none attached, or all of it inlined. */
  open(plan: Pick<CallPlan, 'config' | 'knowledge'>): CallKnowledge | null;
  close(): Promise<void>;
}

/** True when the sources of a plan stand in its prompt whole. */
export function isInlined(knowledge: CallPlan['knowledge']): boolean {
  return (
    knowledge.reduce((sum, source) => sum + Buffer.byteLength(source.content), 0) <=
    LIMITS.knowledgeInlineBytes
  );
}

/** Creates a worker's knowledge search; the thread comes with its first use. */
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
      // Running calls go on without their knowledge; the next one gets a new thread.
      logger.error({ err: error }, 'knowledge thread failed');
      thread = null;
    });
    worker.unref();
    return worker;
  }

  function search(call: number, query: string): Promise<readonly Passage[] | null> {
    lastSearch += 1;
    const id = lastSearch;
    return new Promise((resolve) => {
      const settle = (passages: readonly Passage[] | null) => {
        waiting.delete(id);
        timer.cancel();
        resolve(passages);
      };
      const timer = clock.after(BUDGET_MS, () => settle(null));
      waiting.set(id, settle);
      ask({ do: 'search', call, id, query });
    });
  }

  return {
    open({ config, knowledge }) {
      if (!config.knowledge_base.enabled || knowledge.length === 0 || isInlined(knowledge)) return null;
      lastCall += 1;
      const call = lastCall;
      ask({ do: 'open', call, sources: knowledge });
      return { search: (query) => search(call, query), close: () => ask({ do: 'close', call }) };
    },
    async close() {
      await thread?.terminate();
      thread = null;
    },
  };
}
