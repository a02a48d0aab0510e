/**
 * The thread that indexes and searches knowledge, off the call loops. Calls with identical sources share one
 * index.
 */
import { createHash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { treatThisThreadAsOthers } from '#base/thread-priority.ts';
import { buildKnowledgeIndex, type KnowledgeIndex } from './knowledge-index.ts';
import type { KnowledgeAnswer, KnowledgeRequest } from './knowledge-search.ts';

/** Unused indexes kept for the agent's next call. */
const IDLE_INDEXES = 4;

interface SharedIndex {
  readonly key: string;
  readonly index: KnowledgeIndex;
  calls: number;
}

treatThisThreadAsOthers();

const shared = new Map<string, SharedIndex>();
const byCall = new Map<number, SharedIndex>();

parentPort?.on('message', (request: KnowledgeRequest) => {
  switch (request.do) {
    case 'open':
      byCall.set(request.call, open(request.sources));
      break;
    case 'search': {
      const passages = byCall.get(request.call)?.index.search(request.query) ?? [];
      parentPort?.postMessage({ id: request.id, passages } satisfies KnowledgeAnswer);
      break;
    }
    case 'close':
      close(request.call);
      break;
    default:
      request satisfies never;
  }
});

function open(sources: Extract<KnowledgeRequest, { do: 'open' }>['sources']): SharedIndex {
  const hash = createHash('sha256');
  for (const { knowledge_source_id, name, content } of sources)
    hash.update(JSON.stringify([knowledge_source_id, name, content]));
  const key = hash.digest('base64');
  const known = shared.get(key) ?? { key, index: buildKnowledgeIndex(sources), calls: 0 };
  known.calls += 1;
  // Reinserted as the newest; the oldest unused index is evicted first.
  shared.delete(key);
  shared.set(key, known);
  return known;
}

function close(call: number): void {
  const known = byCall.get(call);
  byCall.delete(call);
  if (!known) return;
  known.calls -= 1;
  const idle = [...shared.values()].filter(({ calls }) => calls === 0);
  for (const { key } of idle.slice(0, Math.max(0, idle.length - IDLE_INDEXES))) shared.delete(key);
}
