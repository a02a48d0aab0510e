import { describe, expect, it } from 'vitest';
import { MOST_PARTS, readCallFile } from '#protocol/call-file.ts';

const read = (parts: string, seal = '') => readCallFile({ parts, seal, shell: null });

it('A file with more parts than any call is read up to the limit', async () => {
  const { parts, problems } = await read('e30=.AA==\n'.repeat(3 * MOST_PARTS));
  expect(parts).toEqual([]);
  expect(problems.length).toBeLessThanOrEqual(MOST_PARTS + 2);
});

it.each([
  ['dots', '.'.repeat(1_000_000)],
  ['the padding of base64', '='.repeat(1_000_000)],
  ['base64 with a space in it', `${'A'.repeat(500_000)} ${'A'.repeat(499_999)}`],
  ['deep JSON', Buffer.from('['.repeat(600_000)).toString('base64')],
])('A part and a seal of nothing but %s are damaged, and nothing else', async (_, text) => {
  const { statement, parts, problems } = await read(`${text}\n`, text);
  expect([statement, parts]).toEqual([null, []]);
  expect(problems).toEqual(['The signature or the statement is damaged or missing', 'Part 1 is damaged']);
});

const STATEMENT = {
  format: 'parley-call/1',
  session_id: 's',
  agent_id: 'a',
  agent_version_id: '',
  started_at: null,
  ended_at: null,
  issuer: 'https://example.com',
  signed_at: '2026-01-01T00:00:00.000Z',
  public_key: `${'_'.repeat(42)}8`,
  shell: 'A'.repeat(43),
  parts: [],
};

const base64 = (value: unknown) =>
  Buffer.from(Buffer.isBuffer(value) ? value : JSON.stringify(value)).toString('base64');
const sealOf = (statement: object) => [statement, Buffer.alloc(64)].map(base64).join('.');

it('A key that is no point of the curve does not verify', async () => {
  expect((await read('', sealOf(STATEMENT))).problems).toContain(
    'The signature does not belong to this statement and this key',
  );
});

describe('a chain', () => {
  const readLinks = (...links: readonly unknown[]) =>
    read(
      links
        .map(
          (link, number) => `${[{ kind: 'chain', number }, Buffer.alloc(32), link].map(base64).join('.')}\n`,
        )
        .join(''),
      sealOf({ ...STATEMENT, format: 'parley-call/2' }),
    );
  const link = {
    ...{ session_id: 's', number: 0, before: null, epoch: 1 },
    ...{ signed_at: STATEMENT.signed_at, public_key: STATEMENT.public_key },
  };
  const signed = (adds: readonly string[]) => ({
    link: JSON.stringify({ ...link, adds }),
    signature: Buffer.alloc(64).toString('base64'),
  });

  it('with as many stretches as a link may have is read, and each is missing', async () => {
    const { chain, problems } = await readLinks(signed(Array(100_000).fill(`line 1 2 ${'A'.repeat(43)}`)));
    expect(chain?.missing).toHaveLength(100_000);
    expect(problems).toContain('The signature of the link 1 of the chain does not belong to it');
  });

  it.each([
    ['more stretches than a link may have', signed(Array(100_001).fill(`line 1 2 ${'A'.repeat(43)}`))],
    ['a line that is no stretch', signed([`user ${'1 '.repeat(80)}`])],
    ['numbers that are no places', signed([`user 1 2 3 4 5 6 ${'A'.repeat(43)}`])],
    ['a text that is no JSON', { link: '['.repeat(100_000), signature: Buffer.alloc(64).toString('base64') }],
    ['fields in another order', { ...signed([]), link: JSON.stringify({ adds: [], ...link }) }],
  ])('with %s is damaged', async (_, content) => {
    expect((await readLinks(content)).problems).toContain('The link 1 of the chain is damaged');
  });
});
