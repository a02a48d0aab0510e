import { describe, expect, it } from 'vitest';
import { type DrawnSpan, rowsOf, waterfallOf } from '#bench/traces/waterfall.ts';

const START = Date.UTC(2026, 0, 1);
let ids = 0;

/** A span from one ms to another after the start of the call. */
function span(name: string, fromMs: number, toMs: number, over: Partial<DrawnSpan> = {}): DrawnSpan {
  ids += 1;
  const times = { startMs: START + fromMs, endMs: START + toMs };
  return { spanId: `s${ids}`, parentId: 'root', name, ...times, status: 0, attributes: {}, ...over };
}

const ROOT = span('invoke_agent Bistro', 0, 9_000, { spanId: 'root', parentId: null });

describe('the waterfall of a call', () => {
  it('has each span below its parent, in the order of time', () => {
    const turn = span('turn', 2_000, 5_000, { spanId: 'turn' });
    const chat = span('chat gpt', 3_000, 4_000, { parentId: 'turn' });
    const heard = span('speech_to_text nova', 2_000, 2_900, { parentId: 'turn' });
    const greeting = span('text_to_speech Katie', 100, 600);
    expect(
      rowsOf([chat, turn, heard, ROOT, greeting]).map(({ depth, fromMs, name, toMs }) => [
        depth,
        name,
        fromMs,
        toMs,
      ]),
    ).toEqual([
      [0, 'invoke_agent Bistro', 0, 9_000],
      [1, 'text_to_speech Katie', 100, 600],
      [1, 'turn', 2_000, 5_000],
      [2, 'speech_to_text nova', 2_000, 2_900],
      [2, 'chat gpt', 3_000, 4_000],
    ]);
  });

  it('ends with the call: its analysis and webhooks follow it', () => {
    const analysis = span('analysis', 9_500, 12_000, { spanId: 'analysis' });
    const judge = span('chat gpt', 9_600, 11_000, { parentId: 'analysis' });
    const rows = rowsOf([ROOT, analysis, judge, span('webhook call.ended', 9_100, 9_200)]);
    expect(rows.map(({ name }) => name)).toEqual(['invoke_agent Bistro']);
  });

  it('says of failed work what failed', () => {
    const attributes = { 'error.type': '503' };
    const failed = span('chat gpt', 1_000, 1_200, { status: 2, attributes });
    expect(rowsOf([ROOT, failed]).map(({ error }) => error)).toEqual([null, '503']);
    expect(waterfallOf('A call', [ROOT, failed])).toContain('>200 ms · 503</text>');
  });

  it('shows names as they are, whatever characters they have', () => {
    const picture = waterfallOf('A call', [ROOT, span('execute_tool <b>&', 1_000, 2_000)]);
    expect(picture).toContain('>execute_tool &lt;b>&amp;</text>');
    expect(picture).not.toContain('<b>');
  });

  it('needs a root', () => {
    expect(() => rowsOf([span('turn', 0, 1)])).toThrow('the trace has no root');
  });
});
