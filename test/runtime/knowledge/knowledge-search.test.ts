import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { buildKnowledgeIndex } from '#runtime/knowledge/knowledge-index.ts';
import { type CallKnowledge, createKnowledgeSearch } from '#runtime/knowledge/knowledge-search.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { testPlan } from '../test-plan.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const filler = Array.from(
  { length: 60 },
  (_, index) =>
    `# Dish ${index}\n\nA plate of number ${index} with rice, beans and a salad of the season, served warm.`,
);
const sources = [
  {
    knowledge_source_id: 'menu',
    name: 'Menu',
    content: [...filler, '# Desserts\n\nThe chocolate cake contains hazelnuts.'].join('\n\n'),
  },
  {
    knowledge_source_id: 'house',
    name: 'House rules',
    content: `# Parking\n\nThe garage closes at midnight.\n\n${filler.join('\n\n')}`,
  },
];
const on = { knowledge_base: { enabled: true, knowledge_source_ids: ['menu', 'house'] } };
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
});

describe('the index', () => {
  const index = buildKnowledgeIndex(sources);

  it.each([
    ['are there nuts in the chocolate cake', 'menu'],
    ['is there hazelnut in something', 'menu'],
    ['how long is the garrage open', 'house'],
  ])('returns the passage for %j, with its source and position', (query, source) => {
    const [best] = index.search(query);
    expect(best?.knowledge_source_id).toBe(source);
    expect(best?.text).toMatch(/cake|garage/);
  });

  it('returns nothing for meaningless input, and never more than three passages', () => {
    expect(index.search('hello, can you please help me with that')).toEqual([]);
    expect(index.search('rice beans salad plate').length).toBe(3);
  });
});

describe('knowledge above 8 KB', () => {
  function search(clock = systemClock as typeof systemClock) {
    const knowledge = createKnowledgeSearch({ clock, logger });
    opened.push(knowledge);
    return knowledge;
  }
  const plan = testPlan(on, { knowledge: sources });
  const found = (call: CallKnowledge | null, query: string) =>
    expect.poll(async () => (await call?.search(query))?.[0]?.knowledge_source_id, { timeout: 20_000 });

  it('is searched on a separate thread; calls of one agent share an index, which outlives each call', async () => {
    const knowledge = search();
    const [first, second] = [knowledge.open(plan), knowledge.open(plan)];
    await found(first, 'chocolate cake').toBe('menu');
    first?.close();
    await found(second, 'garage').toBe('house');
  });

  it('is searched within a fixed time; after that the turn continues without it', async () => {
    const clock = new ManualClock();
    const searching = search(clock).open(plan)?.search('chocolate cake');
    // The thread has barely started by then.
    await clock.advance(30);
    expect(await searching).toBeNull();
    expect(clock.pendingTimers).toBe(0);
  });

  it('is not opened when it is disabled, absent, or small enough to be inlined', () => {
    const small = [{ knowledge_source_id: 'k', name: 'Small', content: 'x'.repeat(8_192) }];
    const knowledge = search();
    expect([
      knowledge.open({ ...plan, knowledge: [] }),
      knowledge.open({ ...plan, knowledge: small }),
      knowledge.open(testPlan({}, { knowledge: sources })),
    ]).toEqual([null, null, null]);
  });
});
