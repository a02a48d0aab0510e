import { describe, expect, it } from 'vitest';
import { runAtOnce, runInTurns } from '#base/run-steps.ts';
import { Fault } from '#config/errors.ts';
import { readingUrlencoded } from '#control-plane/platform/http/urlencoded.ts';
import { turnsDuring } from '#test/turns-until.ts';
import { growthOf, MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

/** Parses a form. A form with too many fields is refused and not parsed; any other error fails the test. */
function read(text: string): unknown {
  try {
    return [...readingUrlencoded(Buffer.from(text))];
  } catch (error) {
    if (error instanceof Fault) return error.code;
    throw error;
  }
}

describe('security 2: a form is read in linear time', () => {
  it.each(
    Object.entries({
      ...HOSTILE_TOKENS,
      'names without values': 'a&',
      'one value repeated': 'a=1&',
      escapes: '%41',
      'half escapes': '%',
      'encoded spaces': '+',
    }),
  )('%s', (_, token) => {
    const growth = growthOf({ make: (size) => repeated(token, size), run: read, longest: 64 * 1_024 });
    expect(growth.ratio).toBeLessThanOrEqual(MOST_GROWTH);
  });
});

describe('a form', () => {
  const read = (text: string) => runAtOnce(readingUrlencoded(Buffer.from(text)));

  it.each([
    'a=1&b=2&a=3',
    'name=J%C3%B6rg+M%FCller&empty=&alone&=nameless&&a=%',
    'a=%zz%4&b=%41%4a%4A&c=%E2%82&d=\u{1F600}é&e=a=b=c',
    '%EF%BB%BFa=%EF%BB%BFb',
    `a=${'%E2%82%AC'.repeat(50_000)}&b=${'+x'.repeat(100_000)}`,
  ])('is parsed as the URL standard requires: %.40s', (text) => {
    const fields: Record<string, unknown> = {};
    for (const name of new URLSearchParams(text).keys()) {
      const values = new URLSearchParams(text).getAll(name);
      fields[name] = values.length === 1 ? values[0] : values;
    }
    expect(read(text)).toEqual(fields);
  });

  it('yields to other work at the maximum length; an ordinary form is parsed at once', async () => {
    for (const token of ['+', '%', '%41', 'x', 'é']) {
      const bytes = Buffer.from(`a=${repeated(token, 1_000_000)}`);
      const turns = await turnsDuring(() => runInTurns(readingUrlencoded(bytes)));
      expect(turns, token).toBeGreaterThan(5);
      expect(turns, token).toBeLessThan(80);
    }
    const fields = Array.from({ length: 80 }, (_, index) => `f${index}=${'%C3%A9'.repeat(2_000)}`).join('&');
    expect(await turnsDuring(() => runInTurns(readingUrlencoded(Buffer.from(fields))))).toBeGreaterThan(5);
    expect(
      await turnsDuring(() => runInTurns(readingUrlencoded(Buffer.from('model=a&language=de')))),
    ).toBeLessThanOrEqual(1);
  });
});
