import { describe, expect, it } from 'vitest';
import { LIMITS } from '#config/limits.ts';
import { FilledTooLong, fillPlaceholders } from '#protocol/placeholders.ts';
import { renderRequest } from '#protocol/tool-template.ts';
import { renderText } from '#runtime/turn/text/variables.ts';
import { growthOf, MOST_GROWTH, repeated } from './growth.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

const TOKENS = {
  ...HOSTILE_TOKENS,
  blanks: '  ',
  placeholders: '{{a}}',
  'strings with placeholders': '"{{a}}\\',
};
const tool = (template: string) => ({
  method: 'POST' as const,
  url: template,
  headers: [{ name: 'x-a', value: template }],
  content_type: 'application/json',
  body_template: template,
});
const values = { variables: {}, systemVariables: {}, arguments: { a: '"' } };
const rules = (variables: Record<string, string>) => ({
  variables,
  systemVariables: {},
  onMissing: 'keep' as const,
});

describe('security 3: placeholders are filled in in linear time', () => {
  it.each([
    ['of a tool', (text: string) => renderRequest(tool(text), values)],
    ['of what an agent says', (text: string) => renderText(text, rules({ a: 'b' }))],
  ])('%s', (_, run) => {
    for (const [name, token] of Object.entries(TOKENS)) {
      for (const start of ['', '{{']) {
        const growth = growthOf({
          make: (size) => start + repeated(token, size),
          run,
          longest: LIMITS.bodyTemplateChars,
        });
        expect(growth.ratio, `${name} at ${growth.size}`).toBeLessThanOrEqual(MOST_GROWTH);
      }
    }
  });
});

describe('security 10: a text with filled placeholders', () => {
  const long = 'x'.repeat(1_000);

  it('is up to 1,048,576 characters long', () => {
    expect(fillPlaceholders('{{a}}'.repeat(1_048), () => long)).toHaveLength(1_048_000);
    expect(() => fillPlaceholders('{{a}}'.repeat(1_049), () => long)).toThrow(FilledTooLong);
  });

  it('is not filled in any further once it is too long', () => {
    let filled = 0;
    const fill = () => {
      filled += 1;
      return long;
    };
    expect(() => fillPlaceholders('{{a}}'.repeat(20_000), fill)).toThrow(FilledTooLong);
    expect(filled).toBe(1_049);
  });

  it('is spoken to the caller without the values that exceed the limit', () => {
    const text = renderText(`${'{{a}}'.repeat(2_000)} Goodbye.`, rules({ a: long }));
    expect(text.length).toBeLessThanOrEqual(LIMITS.renderedChars);
    expect(text.endsWith('x Goodbye.')).toBe(true);
  });
});
