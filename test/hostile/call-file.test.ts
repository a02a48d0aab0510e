import { expect, it } from 'vitest';
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

it('A key that is no point of the curve does not verify', async () => {
  const statement = {
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
  const line = [JSON.stringify(statement), Buffer.alloc(64)].map((one) =>
    Buffer.from(one).toString('base64'),
  );
  expect((await read('', line.join('.'))).problems).toContain(
    'The signature does not belong to this statement and this key',
  );
});
