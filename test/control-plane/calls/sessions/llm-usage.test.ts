import { describe, expect, it } from 'vitest';
import { turnUsage, usageByTurn } from '#control-plane/calls/sessions/llm-usage.ts';
import type { ModelUsage } from '#protocol/session-record.ts';

const run = (over: Partial<ModelUsage> = {}): ModelUsage => ({
  turn_id: 1,
  model: 'openai/gpt-4.1-mini',
  input_tokens: 1_000,
  cached_input_tokens: 0,
  output_tokens: 100,
  discarded_output_tokens: 0,
  ...over,
});

describe('llm_usage', () => {
  it('sums the runs of a turn at list price, and lists cached input separately', () => {
    const [first, ...others] = usageByTurn([run({ cached_input_tokens: 600 }), run({ input_tokens: 500 })]);
    expect(others).toEqual([]);
    expect(turnUsage.parse(first)).toEqual({
      turn_id: 1,
      status: 'complete',
      billing_mode: 'included',
      call_count: 2,
      usage_complete: true,
      // 900 at 0.40, 600 at 0.10 and 200 at 1.60 dollars per million.
      cost_usd: '0.00074',
      discarded_output_tokens: 0,
      tokens: [
        {
          model: 'openai/gpt-4.1-mini',
          category: 'input',
          tokens: 900,
          rate_per_million: '0.40',
          cost_usd: '0.00036',
        },
        {
          model: 'openai/gpt-4.1-mini',
          category: 'cache_read',
          tokens: 600,
          rate_per_million: '0.10',
          cost_usd: '0.00006',
        },
        {
          model: 'openai/gpt-4.1-mini',
          category: 'output',
          tokens: 200,
          rate_per_million: '1.60',
          cost_usd: '0.00032',
        },
      ],
    });
  });

  it('lists discarded speculation separately, at no cost to the turn', () => {
    const [only] = usageByTurn([
      run(),
      run({
        input_tokens: null,
        output_tokens: null,
        cached_input_tokens: null,
        discarded_output_tokens: 40,
      }),
    ]);
    expect(only).toMatchObject({
      call_count: 1,
      cost_usd: '0.00056',
      discarded_output_tokens: 40,
      usage_complete: true,
    });
  });

  it('has tokens but no cost without a list price, and is unavailable without token counts', () => {
    const [priceless] = usageByTurn([run({ model: 'custom' })]);
    expect(priceless).toMatchObject({
      cost_usd: null,
      status: 'complete',
      tokens: [{ cost_usd: null }, { cost_usd: null }],
    });
    const [mute] = usageByTurn([run({ input_tokens: null, output_tokens: null })]);
    expect(mute).toMatchObject({ cost_usd: null, status: 'unavailable', usage_complete: false, tokens: [] });
  });

  it('lists turns in order, and runs without a turn first', () => {
    expect(
      usageByTurn([run({ turn_id: 2 }), run({ turn_id: null }), run()]).map(({ turn_id }) => turn_id),
    ).toEqual([null, 1, 2]);
  });
});
