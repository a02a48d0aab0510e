import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#base/log.ts';

function lineOf(log: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  log(createLogger({ level: 'trace', name: 'test' }, { write: (line) => lines.push(line) }));
  expect(lines).toHaveLength(1);
  expect(() => JSON.parse(lines[0] ?? '')).not.toThrow();
  return lines[0] ?? '';
}

afterEach(() => vi.unstubAllEnvs());

describe('the log', () => {
  it('is readable in the format `pretty`, without secrets', () => {
    vi.stubEnv('NO_COLOR', '1');
    const lines: string[] = [];
    const logger = createLogger(
      { level: 'info', name: 'worker', format: 'pretty' },
      { write: (line) => lines.push(line) },
    );
    logger.info({ agentId: 'a1', transcript: 'my code', to: '+81 90 1234 5678' }, 'call admitted');
    expect(lines.join('')).toMatch(
      /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO \(worker\/\d+\): call admitted \{.*\}\n$/,
    );
    expect(lines.join('')).toContain('"agentId":"a1"');
    expect(lines.join('')).not.toMatch(/my code|1234/);
  });

  it.each([
    [
      'a message',
      (logger: ReturnType<typeof createLogger>) => logger.info('caller said 4111 1111 1111 1111'),
      '1111',
    ],
    ['a message with dashes', (logger) => logger.info('card 4111-1111-1111-1111, please'), '1111'],
    [
      'an error',
      (logger) => logger.error({ err: new Error('cannot dial sip:+4930123456@trunk') }),
      '4930123456',
    ],
    ['a nested field', (logger) => logger.info({ a: { b: { c: ['code 123456'] } } }), '123456'],
    ['a number field', (logger) => logger.info({ account: 4_111_111_111_111_111 }), '4111111111111111'],
    ['a child logger', (logger) => logger.child({ to: '+81 90 1234 5678' }).info('x'), '5678'],
  ] as [string, (logger: ReturnType<typeof createLogger>) => void, string][])(
    'keeps digits out of %s',
    (_where, log, planted) => {
      // The line's own time and process id may contain any digits.
      const { time: _time, pid: _pid, ...logged } = JSON.parse(lineOf(log));
      expect(JSON.stringify(logged)).not.toContain(planted);
      expect(JSON.stringify(logged)).toContain('[digits]');
    },
  );

  it('omits signed tokens everywhere, even in an error that quotes the refused token', () => {
    const parts = ['{"alg":"HS256"}', '{"video":{"roomAdmin":true}}'].map((part) =>
      Buffer.from(part).toString('base64url'),
    );
    const token = `${parts.join('.')}.Sg5R3FXV-XsRV`;
    const line = lineOf((logger) =>
      logger.warn({
        err: new Error(`invalid token: ${token}, error`),
        url: `wss://a.example.com/rtc?access_token=${token}`,
      }),
    );
    expect(line).not.toContain(token);
    expect(line).toContain('invalid token: [token], error');
  });

  it('keeps the useful values: ids, addresses, ports, dates, times, counts', () => {
    const facts = {
      sessionId: '0123456789abcdef0123456789abcdef',
      demo: '00000000000000000000000000000005',
      address: '192.168.100.200:20000',
      at: '2026-11-21T12:36:53.123Z',
      ms: 1_234_567,
      uuid: '550e8400-e29b-41d4-a716-446655440000',
    };
    const line = lineOf((logger) => logger.info(facts, 'listening on 5060'));
    expect(JSON.parse(line)).toMatchObject({ ...facts, msg: 'listening on 5060', time: expect.any(Number) });
  });

  it('omits personal and secret fields by name', () => {
    const line = lineOf((logger) =>
      logger.info({ transcript: 'my name is Ada', call: { digits: '12', apiKey: 'pk_1' } }),
    );
    expect(line).not.toMatch(/Ada|"12"|pk_1/);
  });
});
