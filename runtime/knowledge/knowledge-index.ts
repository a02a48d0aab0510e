/** Lexical index of an agent's knowledge, for sources too large for the prompt. Pure. */
import MiniSearch from 'minisearch';
import type { CallPlan } from '#protocol/call-plan.ts';
import { chunkText } from '#protocol/knowledge-chunks.ts';

/** A chunk that answers a query, and its position. */
export interface Passage {
  readonly knowledge_source_id: string;
  readonly name: string;
  /** Counts from 0 within its source. */
  readonly chunk: number;
  readonly text: string;
}

/** Passages per answer: three still leave room in a prompt. */
const PASSAGES = 3;
/** A passage with less than this share of the best score is noise. */
const WEAKEST = 0.3;

/** Words without search value, in the languages the demo speaks best. */
const STOP_WORDS = new Set(
  (
    'a an and are as at be but by can could do does for from had has have hello help hi how i if in is it ' +
    'its like me my no not of on or our please so tell thanks that the their there they this to us want ' +
    'was we what when where which who will with would yes you your und der die das ist ein eine ich wie ' +
    'was zu mit für el la los las un una de que y en es para con le les des et est pour avec je'
  ).split(' '),
);

/** Finds passages. */
export interface KnowledgeIndex {
  /** The best passages for the caller's words, best first; empty when none is relevant. */
  search(query: string): Passage[];
}

/** Indexes the sources of one plan. Takes about a second per 3 MB, so never run it on a call loop. */
export function buildKnowledgeIndex(sources: CallPlan['knowledge']): KnowledgeIndex {
  const passages = sources.flatMap(({ knowledge_source_id, name, content }) =>
    chunkText(content).map((text, chunk): Passage => ({ knowledge_source_id, name, chunk, text })),
  );
  const index = new MiniSearch<{ id: number; name: string; text: string }>({
    fields: ['name', 'text'],
    processTerm: termOf,
  });
  index.addAll(passages.map(({ name, text }, id) => ({ id, name, text })));
  return {
    search(query) {
      // Recognisers misspell: longer words may differ by one letter.
      const found = index.search(query, {
        prefix: (term) => term.length > 4,
        fuzzy: (term) => (term.length > 5 ? 0.2 : false),
      });
      const best = found[0]?.score ?? 0;
      return found
        .slice(0, PASSAGES)
        .filter(({ score }) => score >= best * WEAKEST)
        .flatMap(({ id }) => passages[id as number] ?? []);
    },
  };
}

function termOf(term: string): string | null {
  const word = term.toLowerCase();
  return STOP_WORDS.has(word) ? null : word;
}
