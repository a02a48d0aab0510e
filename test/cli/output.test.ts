import { afterEach, describe, expect, it, vi } from 'vitest';
import { printFacts, printTable } from '#cli/output.ts';

describe('the output for people', () => {
  afterEach(() => vi.restoreAllMocks());

  it('contains no control characters of names, in a table or a list of facts', () => {
    const lines: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
    const hostile = 'Front\u001b]52;c;cm0=\u0007 desk\r\n\u009b2J\u202eksed';
    printTable(['name'], [[hostile]]);
    printFacts({ name: hostile });
    expect(lines.join('\n')).toMatch(/Front \]52;c;cm0= {2}desk/);
    expect(lines.join('')).not.toMatch(/[\p{Cc}\u202e]/u);
  });
});
