/** Searches a conversation's knowledge for a message, and records what was found. */
import type { Clock } from '#base/clock.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { Passage } from './knowledge-index.ts';
import type { CallKnowledge } from './knowledge-search.ts';

/** Knowledge found for a turn. */
export type Retrieval = Omit<Extract<SessionItem, { type: 'knowledge_retrieval' }>, 'created_at'>;

/** Longer queries do not find more. */
const QUERY_CHARS = 400;

/** The query for a message: its end. */
export function queryOf(said: string): string {
  return said.slice(-QUERY_CHARS);
}

/** Searches within the time of `knowledge`; `passages` is null if it ran out. Never rejects. */
export async function retrieve(
  knowledge: Pick<CallKnowledge, 'search'>,
  { query, turnId }: { readonly query: string; readonly turnId: number },
  clock: Pick<Clock, 'now'>,
): Promise<{ readonly passages: readonly Passage[] | null; readonly retrieval: Retrieval }> {
  const startedMs = clock.now();
  const passages = await knowledge.search(query);
  const retrieval: Retrieval = {
    type: 'knowledge_retrieval',
    query,
    status: passages ? 'completed' : 'timeout',
    latency_ms: Math.round(clock.now() - startedMs),
    citations: (passages ?? []).map(({ knowledge_source_id, name, chunk }) => ({
      knowledge_source_id,
      name,
      chunk,
    })),
    turn_id: turnId,
  };
  return { passages, retrieval };
}
