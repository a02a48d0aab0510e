import { describe, expect, it } from 'vitest';
import { placeholderProblem } from '#protocol/placeholders.ts';

describe('system variables in a text', () => {
  it.each([
    '',
    'Hello {{name}}',
    '{{system.today}}',
    '{{ system.caller_number }}',
    '{{system.channel',
    'system.nothing',
    '{{systematic}}',
  ])('%j is accepted', (text) => {
    expect(placeholderProblem(text)).toBeNull();
  });

  it.each([
    '{{system.now}}',
    '{{ system.session_id }}',
    'a {{system.today}} b {{system.}}',
    '{{system.today.x}}',
  ])('%j names an unknown variable, and the error lists those that exist', (text) => {
    expect(placeholderProblem(text)).toMatch(
      /^unknown system variable; the valid names are system\.channel, system\.timezone/,
    );
  });

  it('an endless placeholder is read in no time', () => {
    const started = performance.now();
    expect(placeholderProblem(`{{system.${' '.repeat(100_000)}`)).toBeNull();
    expect(performance.now() - started).toBeLessThan(500);
  });
});
