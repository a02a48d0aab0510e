import { describe, expect, it } from 'vitest';
import {
  agentFileText,
  diffOf,
  fillSecrets,
  overlay,
  parseAgentFile,
  type StoredFile,
} from '#cli/agent-file.ts';
import { growthOf, MOST_GROWTH, repeated } from '../hostile/growth.ts';

const silent = () => undefined;
const EMPTY: StoredFile = { parley: 1, tools: [], knowledge: [] };
const read = (text: string) => parseAgentFile(`parley: 1\nagent: { name: Bakery }\n${text}`, 'bakery.yaml');

describe('an agent file', () => {
  it.each([
    ['agent: { name: Bakery }', 'parley'],
    ['parley: 2\nagent: { name: Bakery }', 'must be 1, the version of this format'],
    ['parley: 1\nagent: { name: Bakery }\ntolls: []', 'tolls'],
    ['parley: 1\nagent: {', 'bakery.yaml'],
  ])('is refused with its fault: %j', (text, said) => {
    expect(() => parseAgentFile(text, 'bakery.yaml')).toThrow(said);
  });

  it('multiplying aliases, duplicate keys, __proto__ and deep nesting are refused in one line', () => {
    const bomb = Array.from(
      { length: 9 },
      (_, level) =>
        `a${level}: &a${level} [${Array(10)
          .fill(level === 0 ? 'x' : `*a${level - 1}`)
          .join(', ')}]`,
    ).join('\n');
    for (const [text, said] of [
      [bomb, 'aliases'],
      ['a: 1\nb: 2\na: 3', 'unique'],
      ['config: { __proto__: { polluted: 1 } }', '__proto__ at line 3'],
      [`tools: ${'['.repeat(20_000)}`, 'bakery.yaml'],
    ] as const)
      expect(() => read(text)).toThrow(said);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it.each(['[', '{a: ', '- ', '? '])(
    'more than a hundred levels of %j are refused in linear time',
    (token) => {
      const run = (text: string) =>
        expect(() => parseAgentFile(text, 'bakery.yaml')).toThrow('more than 100 nested lists or maps');
      run(repeated(token, 101 * token.length));
      expect(() => parseAgentFile(`${token.repeat(100)}\n`, 'bakery.yaml')).not.toThrow('more than 100');
      expect(
        growthOf({ make: (size) => repeated(token, size), run, longest: 240_000 }).ratio,
      ).toBeLessThanOrEqual(MOST_GROWTH);
    },
  );

  it.each([
    [']', '['],
    ['}', '{a: '],
  ])('%j before any opening allows no more levels of %j, however often it is repeated', (end, start) => {
    const run = (text: string) =>
      expect(() => parseAgentFile(text, 'bakery.yaml')).toThrow('more than 100 nested lists or maps');
    run(end.repeat(101) + start.repeat(101));
    const make = (size: number) => end.repeat(size) + repeated(start, size);
    expect(growthOf({ make, run, longest: 120_000 }).ratio).toBeLessThanOrEqual(MOST_GROWTH);
  });

  it('the number of sibling lists and maps is not limited', () => {
    const items = Array.from({ length: 300 }, (_, index) => `    k${index}: [{ a: 1 }, "]{[-"]`).join('\n');
    expect(() => read(`config:\n  more:\n${items}\n  list:\n${'  - - a\n'.repeat(300)}`)).not.toThrow();
  });

  it('a file with many keys is read in linear time', () => {
    const make = (keys: number) =>
      'config:\n  variables:\n    ' +
      `defaults:\n${Array.from({ length: keys }, (_, index) => `      k${index}: 1`).join('\n')}`;
    expect(growthOf({ make, run: read, longest: 8_192 }).ratio).toBeLessThanOrEqual(MOST_GROWTH);
  });

  it('a secret is in the environment, never in the file', () => {
    const named = read(
      `config: { llm: { custom: { base_url: "https://llm.example.com", model: m, api_key: "\${KEY}" } } }`,
    );
    expect(fillSecrets(named, { KEY: 'k-1' }, silent).config.llm?.custom?.api_key).toBe('k-1');
    expect(() => fillSecrets(named, {}, silent)).toThrow('llm.custom: set KEY in the environment');
    const speech = read(`config: { custom_speech: { asr: { url: "wss://own.example.com", api_key: abc } } }`);
    expect(() => fillSecrets(speech, {}, silent)).toThrow(
      `custom_speech.asr: a file must not contain a secret: write api_key: \${NAME}`,
    );
    const plain = read(
      'tools: [{ name: t, headers: [{ name: Authorization, kind: authorization_bearer, value: abc }] }]',
    );
    expect(() => fillSecrets(plain, {}, silent)).toThrow(
      `a file must not contain a secret: write value: \${NAME}`,
    );
  });
});

describe('the credential of a bearer header', () => {
  it.each([
    ['t0ken', 'Bearer t0ken', 1],
    ['Bearer t0ken', 'Bearer t0ken', 0],
    ['{{token}}', '{{token}}', 0],
  ])('%s is sent as %s, and an addition is reported', (value, sent, notes) => {
    const file = read(
      `tools: [{ name: t, headers: [{ name: A, kind: authorization_bearer, value: "\${KEY}" }] }]`,
    );
    const lines: string[] = [];
    const filled = fillSecrets(file, { KEY: value }, (line) => lines.push(line));
    expect(filled.tools[0]?.headers?.[0]?.value).toBe(sent);
    expect(lines.length).toBe(notes);
    expect(lines.join('')).not.toContain('t0ken');
  });
});

describe('merging a file into the stored agent', () => {
  const stored: StoredFile = {
    ...read(`config:
  prompt: { system_prompt: Old., first_message_mode: prompt }
  analysis: { criteria: [{ name: polite, description: Says please. }, { name: quick, description: "" }] }
  webhooks: { post_call: [{ url: "https://a.example.com", has_secret: true }] }
  variables: { defaults: { a: 1, b: 2 } }
tools: [{ name: order, description: Orders., headers: [] }]`),
  };

  it('keeps omitted fields and replaces lists and variables, whose entries match by name', () => {
    const file = read(
      'config: { prompt: { system_prompt: New. }, analysis: { criteria: [{ name: polite }] }, variables: ' +
        '{ defaults: { a: 3 } } }',
    );
    const { wanted } = overlay(stored, file);
    expect(wanted.config).toMatchObject({
      prompt: { system_prompt: 'New.', first_message_mode: 'prompt' },
      analysis: { criteria: [{ name: 'polite', description: 'Says please.' }] },
      webhooks: { post_call: [{ url: 'https://a.example.com', has_secret: true }] },
    });
    expect(wanted.config['variables']).toEqual({ defaults: { a: 3 } });
    expect(wanted.tools).toEqual(stored.tools);
  });

  it('changes nothing if the file equals the stored agent', () => {
    const itself = parseAgentFile(agentFileText(stored), 'x');
    expect(diffOf(stored, overlay(stored, itself).wanted)).toBe('');
  });

  it('security 20: reports a missing credential when the file moves a tool or model to another host', () => {
    const at = (host: string) =>
      read(`config: { llm: { custom: { base_url: "https://${host}/v1", model: m, has_secret: true } } }
tools: [{ name: order, url: "https://${host}/order", headers: [{ name: Authorization, kind: authorization_bearer, has_secret: true }] }]`);
    expect(overlay(at('a.example.com'), at('a.example.com')).missing).toEqual([]);
    expect(overlay(at('a.example.com'), at('b.example.com')).missing).toEqual([
      'llm.custom',
      'tool order, header Authorization',
    ]);
  });

  it('keeps a secret while its endpoint stays, and reports a referenced secret that does not exist', () => {
    const file = read(
      'config: { webhooks: { post_call: [{ url: "https://a.example.com" }, { url: ' +
        '"https://b.example.com", has_secret: true }] } }',
    );
    const { wanted, missing } = overlay(stored, file);
    expect(wanted.config.webhooks?.post_call).toEqual([
      { url: 'https://a.example.com', has_secret: true },
      { url: 'https://b.example.com' },
    ]);
    expect(missing).toEqual(['webhooks.post_call https://b.example.com']);
  });

  it('shows changes in the diff, but never a secret', () => {
    const file = fillSecrets(
      read(`config: { webhooks: { post_call: [{ url: "https://b.example.com", secret: "\${S}" }] } }`),
      { S: 'hidden-value' },
      silent,
    );
    const { full, wanted } = overlay(EMPTY, file);
    expect(full.config.webhooks?.post_call?.[0]?.secret).toBe('hidden-value');
    const diff = diffOf(EMPTY, wanted);
    expect(diff).toContain('+        has_secret: true');
    expect(diff).not.toContain('hidden-value');
  });
});
