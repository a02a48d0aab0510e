/** The answers that an agent's questions expect, by the arguments of its tools. */
import { describe, expect, it } from 'vitest';
import { fitOf } from '#runtime/turn/machine/endpointing/expected-answer.ts';
import { turnConfig } from '#runtime/turn/machine/turn-config.ts';
import { expectationOf } from '#runtime/turn/text/expectation.ts';
import { argumentsOfSchema, slotsOf, type ToolArgument } from '#runtime/turn/text/tool-slots.ts';
import { testPlan } from '../test-plan.ts';

const ARGUMENTS: readonly ToolArgument[] = [
  { name: 'member_number', description: "The caller's member number, 8 digits" },
  { name: 'customerReference', description: '', schema: { pattern: '^[A-Z]{2}\\d{6}$' } },
  { name: 'pin', description: '', schema: { pattern: '^\\d{4,6}$' } },
  { name: 'size', description: '', schema: { enum: ['small', 'medium', 'extra_large'] } },
  { name: 'work_contact', description: '', schema: { format: 'email', title: 'Work contact' } },
  { name: 'Kundennummer', description: 'Kundennummer (7 Ziffern)' },
  { name: 'note', description: 'A note of the caller' },
  { name: 'code', description: '6 digits' },
];

function expected(question: string, language = 'en') {
  return expectationOf(question, language, { slots: slotsOf(ARGUMENTS, language) });
}

describe('an argument of a tool', () => {
  it.each([
    ["What's your member number?", { kind: 'digits', lengths: [8] }],
    ['Could you give me your reference, please?', { kind: 'code', lengths: [8] }],
    ['And your PIN?', { kind: 'digits', lengths: [4, 5, 6] }],
    ['What size would you like?', { kind: 'choice', options: ['small', 'medium', 'large'] }],
    ['What is your work contact?', { kind: 'email' }],
    // The question itself comes first.
    ["What's your phone number?", { kind: 'phone' }],
    ['What are the last two digits of your member number?', { kind: 'digits', lengths: [2] }],
  ])('is what the agent asks for: %s', (question, expectation) => {
    expect(expected(question)).toEqual(expectation);
  });

  it('leaves a question about it to be answered with yes or no, or with an option', () => {
    expect(expected('Is that your member number?')).toEqual({ kind: 'yes_no', isOffer: false });
    expect(expected('The small or the large size?')).toEqual({ kind: 'choice', options: ['small', 'size'] });
  });

  it.each(['up to 8 digits', 'at least 6 digits', 'a maximum of 8 digits'])(
    'may have a bound, which is no length: %s',
    (description) => {
      expect(slotsOf([{ name: 'member_number', description }], 'en')).toEqual([]);
    },
  );

  it('may be a date, which is written in digits and said in words', () => {
    const schema = { format: 'date', pattern: '^\\d{4}-\\d{2}-\\d{2}$' };
    expect(slotsOf([{ name: 'arrival', description: '', schema }], 'en')).toEqual([]);
  });

  it('is named in the language of the agent', () => {
    expect(expected('Wie lautet Ihre Kundennummer?', 'de')).toEqual({ kind: 'digits', lengths: [7] });
  });

  it.each([
    'What would you like me to note?',
    "What's the code?",
    'Is that your member number?',
    "What's your member number and your PIN?",
    'Did you get your reference?',
  ])('is not what the agent asks for: %s', (question) => {
    const { kind } = expected(question) ?? {};
    expect(kind === undefined || kind === 'yes_no').toBe(true);
  });

  it.each([
    ["What's your member number?", 'one two three four five six seven eight', 'expected 8 digits, has 8'],
    ["What's your member number?", 'twelve thirty-four', 'expected 8 digits, has 4'],
    ["What's your reference?", 'A B one two three', 'expected 6 to 8 letters and digits, has 5'],
    ["What's your reference?", 'A as in Anna, B, 123456', 'expected 6 to 8 letters and digits, has 8'],
    ["What's your reference?", "it's AB123456", 'expected 6 to 8 letters and digits, has 8'],
    ["What's your reference?", 'I do not have it here', undefined],
    ['And your PIN?', '1 2 3', 'expected 4 to 6 digits, has 3'],
    ['And your PIN?', '1 2 3 4', 'expected 4 to 6 digits, has 4'],
    ['What size would you like?', 'the extra large one', undefined],
    ['What size would you like?', 'extra large, please', 'expected one of the options, has it'],
  ])('tells whether the answer is whole: %s — %s: %s', (question, answer, note) => {
    const slots = slotsOf(
      [...ARGUMENTS, { name: 'reference', description: '', schema: { pattern: '^AC\\d{6}$' } }].filter(
        ({ name }) => name !== 'customerReference',
      ),
      'en',
    );
    const expects = expectationOf(question, 'en', { slots });
    expect((expects && fitOf(answer, expects, 'en'))?.note).toBe(note);
  });

  it.each(['^(a|b)+$', '^.*$', '\\d+', '^\\d{1}$', '^\\d{4,40}$', '['.repeat(200), '^\\d{4'])(
    'with a pattern that is no plain sequence says nothing: %s',
    (pattern) => {
      expect(slotsOf([{ name: 'token', description: '', schema: { pattern } }], 'en')).toEqual([]);
    },
  );

  it('is read from the schema of a server, whatever else that contains', () => {
    const schema = {
      type: 'object',
      properties: {
        ticket: { type: 'string', pattern: '^\\d{5}$' },
        odd: 7,
        none: null,
        list: { enum: [1, 2] },
      },
    };
    expect(slotsOf(argumentsOfSchema(schema), 'en')).toEqual([
      { names: ['ticket'], expects: { kind: 'digits', lengths: [5] } },
    ]);
    for (const hostile of [null, 7, [], { properties: [] }, { properties: null }])
      expect(argumentsOfSchema(hostile)).toEqual([]);
  });
});

describe('the settings of a call', () => {
  it('contain the arguments of its tools, and nothing without tools', () => {
    const plan = testPlan();
    expect(turnConfig(plan, null, (text) => text).slots).toBeUndefined();
    const server = {
      tool_server_id: 's1',
      name: 'crm',
      url: 'https://crm.example/mcp',
      headers: [],
      oauth: null,
      timeout_seconds: 5,
      tools: [
        {
          name: 'find',
          description: '',
          input_schema: '{"type":"object","properties":{"ticket":{"pattern":"^\\\\d{5}$"}}}',
          hash: '',
          function_name: 'find',
          execution_mode: 'blocking' as const,
        },
      ],
    };
    expect(turnConfig({ ...plan, tool_servers: [server] }, null, (text) => text).slots).toEqual([
      { names: ['ticket'], expects: { kind: 'digits', lengths: [5] } },
    ]);
  });
});
