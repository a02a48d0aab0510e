import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CALL_TAGS } from '#config/scorecard.ts';
import { type CallRecord, type TagRules, tagsOf } from '#control-plane/calls/tags/call-tags.ts';
import { wordsOf } from '#control-plane/calls/tags/words.ts';
import type { SessionItem, SpeechOverlap, TurnSilence } from '#protocol/session-record.ts';

const START_MS = Date.parse('2026-11-29T10:00:00.000Z');
const at = (ms: number) => new Date(START_MS + ms).toISOString();
const EMPTY: CallRecord = {
  startedAt: new Date(START_MS),
  items: [],
  silences: [],
  overlaps: [],
  mediaQuality: null,
};
const RULES: TagRules = { scorecard: {}, language: 'en' };

const said = (role: 'user' | 'assistant', content: string, ms = 0): SessionItem => ({
  type: 'message',
  role,
  content,
  turn_id: 1,
  created_at: at(ms),
  id: 'm1',
});
const tool = (latency_ms: number, ms: number): SessionItem => ({
  type: 'tool_result',
  call_id: 'c',
  tool_name: 'book_table',
  tool_source: null,
  status: 'completed',
  output: null,
  output_truncated: false,
  error: null,
  latency_ms,
  turn_id: 1,
  created_at: at(ms),
});
const silence = (duration_ms: number, cause: TurnSilence['causes'][number]['cause'] = 'model') => ({
  started_at: at(5_000),
  duration_ms,
  causes: [{ cause, rule: null, ms: duration_ms }],
  explanation: 'the model’s first word',
});
const overlap = (duration_ms: number): SpeechOverlap => ({
  started_at: at(7_000),
  duration_ms,
  begun_by: 'agent',
});
const tags = (call: Partial<CallRecord>, rules: Partial<TagRules> = {}) =>
  tagsOf({ ...EMPTY, ...call }, { ...RULES, ...rules });
const names = (...given: Parameters<typeof tags>) => tags(...given).map(({ tag }) => tag);
const conversation = (role: 'user' | 'assistant', lines: string[]) =>
  lines.map((line, index) => said(role, line, index * 1_000));

describe('a silence', () => {
  it('of four seconds that the agent has to answer for is dead air, where it began', () => {
    expect(tags({ silences: [silence(4_000)] })).toEqual([
      {
        tag: 'dead_air',
        count: 1,
        moments: [{ at_ms: 5_000, evidence: '4,000 ms of silence: the model’s first word' }],
      },
    ]);
  });

  it('of the caller’s own, or a shorter one, is none', () => {
    expect(names({ silences: [silence(9_000, 'caller_silent'), silence(3_999)] })).toEqual([]);
  });

  it('counts from the time that the agent’s configuration says', () => {
    const scorecard = { dead_air_ms: 2_000 };
    expect(names({ silences: [silence(2_000)] }, { scorecard })).toEqual(['dead_air']);
  });
});

describe('caller and agent', () => {
  it('talk over each other if both are heard for 1.5 seconds', () => {
    expect(tags({ overlaps: [overlap(1_500), overlap(1_499)] })).toMatchObject([
      { tag: 'talked_over', count: 1, moments: [{ at_ms: 7_000 }] },
    ]);
  });

  it('are told if nothing was heard from the caller', () => {
    const mediaQuality = { unheard: { expected_address: null, refused_addresses: [] } };
    expect(names({ mediaQuality })).toEqual(['unheard']);
  });
});

describe('an agent in a loop', () => {
  const again = 'I did not get that, could you say your order number once more?';

  it('is one that says nearly the same for the third time', () => {
    const items = conversation('assistant', [
      again,
      'One moment please, I am looking.',
      again,
      `Sorry. ${again}`,
    ]);
    expect(tags({ items })).toMatchObject([{ tag: 'loop', count: 1, moments: [{ at_ms: 3_000 }] }]);
  });

  it('is none that repeats itself once, or says something short often', () => {
    expect(names({ items: conversation('assistant', [again, again]) })).toEqual([]);
    expect(names({ items: conversation('assistant', ['All right!', 'All right!', 'All right!']) })).toEqual(
      [],
    );
  });

  it('is looked for in the first thousand messages, however long the call', () => {
    const items = conversation(
      'assistant',
      Array.from({ length: 1_500 }, () => again),
    );
    expect(tags({ items })).toMatchObject([{ tag: 'loop', count: 998 }]);
  });

  it('is told by the first 2,000 characters of a message, ligatures taken apart', () => {
    expect(wordsOf('ﬄ'.repeat(4_000)).join('')).toHaveLength(2_000);
  });
});

describe('a caller', () => {
  it('who says nearly the same again has repeated themselves', () => {
    const items = conversation('user', ['I want to cancel my order', 'No, I want to cancel my order!']);
    expect(tags({ items })).toMatchObject([{ tag: 'caller_repeated', moments: [{ at_ms: 1_000 }] }]);
  });

  it('who says something else has not', () => {
    const items = conversation('user', ['I want to cancel my order', 'The number is one two three four']);
    expect(names({ items })).toEqual([]);
  });

  it.each([
    ['en', 'This is RIDICULOUS, goodbye'],
    ['de', 'Das ist eine Unverschämtheit'],
    ['fr', 'C’est n’importe quoi'],
    ['es', '¡Cállate ya!'],
  ])('who ends in anger is told by the words of the language %s', (language, line) => {
    const items = conversation('user', ['Hello', line]);
    expect(tags({ items }, { language })).toMatchObject([
      { tag: 'anger_words', moments: [{ at_ms: 1_000 }] },
    ]);
  });

  it('is judged by their last three lines and by whole words', () => {
    const early = ['this is ridiculous', 'my name is Ada', 'a table for two', 'thank you very much'];
    expect(names({ items: conversation('user', early) })).toEqual([]);
    expect(names({ items: conversation('user', ['I am from Shitterton']) })).toEqual([]);
  });

  it('is judged by further words of the agent’s configuration', () => {
    const items = conversation('user', ['give me a supervisor']);
    expect(names({ items }, { scorecard: { anger_words: ['Supervisor'] } })).toEqual(['anger_words']);
  });
});

describe('a tool', () => {
  it('that took three seconds is slow, from the time it was called', () => {
    expect(tags({ items: [tool(3_000, 9_000), tool(2_999, 20_000)] })).toEqual([
      { tag: 'slow_tool', count: 1, moments: [{ at_ms: 6_000, evidence: 'book_table took 3,000 ms' }] },
    ]);
  });
});

describe('a wrong language', () => {
  const english = [
    'Hello and thank you for calling, what would you like to order and when do you want it?',
    'I have that for you. Please tell me your name and your address.',
  ];
  const spanish = [
    'Hola, quiero hacer un pedido pero hay un problema con el pago y las facturas',
    'Usted no entiende, tengo el número pero no puedo encontrar la página, gracias',
    'Muchas gracias, pero esta vez el pedido es muy grande',
  ];

  it('is one that differs from the agent’s', () => {
    const items = [...conversation('user', spanish), ...conversation('assistant', english)];
    expect(tags({ items })).toMatchObject([
      { tag: 'wrong_language', moments: [{ evidence: 'The caller spoke es, the agent en' }] },
    ]);
  });

  it('is one in another script', () => {
    const russian = ['Здравствуйте, я хотел бы заказать столик на двоих сегодня вечером'];
    const items = [...conversation('user', russian), ...conversation('assistant', english)];
    expect(tags({ items })).toMatchObject([
      { moments: [{ evidence: 'The caller spoke Cyrillic, the agent en' }] },
    ]);
  });

  it('is what the recogniser has told twice', () => {
    const foreign = '[unintelligible speech]';
    expect(tags({ items: conversation('user', [foreign, 'hello', foreign]) })).toEqual([
      {
        tag: 'wrong_language',
        count: 2,
        moments: [0, 2_000].map((at_ms) => ({ at_ms, evidence: 'The recogniser heard another language' })),
      },
    ]);
    expect(names({ items: conversation('user', [foreign, 'hello']) })).toEqual([]);
  });

  it('is none if the agent has followed the caller, or if there is too little to tell', () => {
    const both = [
      ...conversation('user', spanish),
      ...conversation(
        'assistant',
        spanish.map((line) => `Sí. ${line}`),
      ),
    ];
    expect(names({ items: both })).not.toContain('wrong_language');
    const short = [said('user', 'el niño'), ...conversation('assistant', english)];
    expect(names({ items: short })).toEqual([]);
  });
});

describe('the tags of any call', () => {
  const message = fc.record({
    role: fc.constantFrom('user' as const, 'assistant' as const),
    content: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom('', 'no no no no no', '🤷'),
    ),
    ms: fc.integer({ min: -1_000, max: 3_600_000 }),
  });
  const calls = fc.record({
    messages: fc.array(message, { maxLength: 60 }),
    silences: fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 30 }),
    overlaps: fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 30 }),
    tools: fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 30 }),
  });

  it('are in a fixed order, each once, with at most 20 moments within the call, and stay as they are', () => {
    fc.assert(
      fc.property(calls, ({ messages, silences, overlaps, tools }) => {
        const call: CallRecord = {
          ...EMPTY,
          items: [
            ...messages.map(({ role, content, ms }) => said(role, content, ms)),
            ...tools.map((ms) => tool(ms, ms)),
          ],
          silences: silences.map((ms) => silence(ms)),
          overlaps: overlaps.map(overlap),
        };
        const found = tagsOf(call, RULES);
        const order = found.map(({ tag }) => CALL_TAGS.indexOf(tag));
        expect(order).toEqual([...new Set(order)].sort((a, b) => a - b));
        for (const { count, moments } of found) {
          expect(count).toBeGreaterThanOrEqual(moments.length);
          expect(moments.length).toBeLessThanOrEqual(20);
          for (const { at_ms, evidence } of moments) {
            expect(at_ms).toBeGreaterThanOrEqual(0);
            expect(evidence.length).toBeLessThanOrEqual(160);
          }
        }
        expect(tagsOf(call, RULES)).toEqual(found);
        expect(found.find(({ tag }) => tag === 'dead_air')?.count ?? 0).toBe(
          silences.filter((ms) => ms >= 4_000).length,
        );
      }),
    );
  });

  it('never become fewer by a looser threshold', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 20_000 })),
        fc.integer({ min: 1_000, max: 20_000 }),
        (all, from) => {
          const count = (dead_air_ms: number) =>
            tags({ silences: all.map((ms) => silence(ms)) }, { scorecard: { dead_air_ms } })[0]?.count ?? 0;
          expect(count(from)).toBeLessThanOrEqual(count(Math.max(1_000, from / 2)));
        },
      ),
    );
  });
});
