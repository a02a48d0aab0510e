import { describe, expect, it } from 'vitest';
import { suggestAgent } from '#runtime/agent-tests/suggest-agent.ts';
import { type LanguageModel, ModelError } from '#runtime/llm/llm.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const SUGGESTION = {
  name: 'Salon',
  system_prompt: 'You take bookings.',
  first_message: 'Hello!',
  tests: [{ name: 'Price', caller_says: 'What does it cost?', expectation: 'Names a price' }],
};
/** List price of one answer below, micro-dollars. */
const ANSWER_MICROS = 2_800;

/** A model that streams each of these in turn: a text, or an error; without any left, it says nothing. */
function modelOf(...answers: readonly (string | ModelError)[]): LanguageModel {
  const left = [...answers];
  return {
    id: 'openai/gpt-4.1',
    isCustom: false,
    async *stream({ signal }) {
      const answer = left.shift();
      if (answer === undefined)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      if (answer instanceof Error) throw answer;
      yield { type: 'text', text: answer ?? '' };
      yield { type: 'finish', usage: { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: null } };
    },
  };
}

describe('the suggestion of an agent by a worker', () => {
  it('costs the price of both answers if the first has another form', async () => {
    const model = modelOf('Gladly!', JSON.stringify(SUGGESTION));
    expect(await suggestAgent('A salon', model, new ManualClock())).toEqual({
      suggestion: SUGGESTION,
      error: null,
      cost_micros: 2 * ANSWER_MICROS,
    });
  });

  it.each([
    ['a name that is too long', { name: 'x'.repeat(121) }],
    ['a prompt that is too long', { system_prompt: 'x '.repeat(4_500) }],
    ['a prompt of too many tokens', { system_prompt: '\u{13000}'.repeat(3_000) }],
    ['an unknown system variable in the prompt', { system_prompt: 'Ask for {{system.mood}}.' }],
    ['an unknown system variable in the first message', { first_message: '{{system.mood}}' }],
  ])('is asked for again if it has %s', async (_, part) => {
    const model = modelOf(JSON.stringify({ ...SUGGESTION, ...part }), JSON.stringify(SUGGESTION));
    expect(await suggestAgent('A salon', model, new ManualClock())).toMatchObject({
      suggestion: SUGGESTION,
      cost_micros: 2 * ANSWER_MICROS,
    });
  });

  it('advises other words if both answers have another form', async () => {
    expect(await suggestAgent('A salon', modelOf('Gladly!', 'Yes!'), new ManualClock())).toEqual({
      suggestion: null,
      error: 'its answer does not have the requested form; try again, or describe the agent in other words',
      cost_micros: 2 * ANSWER_MICROS,
    });
  });

  it('advises to check a model that fails, and shortens what it says', async () => {
    const model = modelOf('Gladly!', new ModelError('x'.repeat(1_000), { retryable: false }));
    expect(await suggestAgent('A salon', model, new ManualClock())).toEqual({
      suggestion: null,
      error: `${'x'.repeat(400)}; try again later, or check the model`,
      cost_micros: ANSWER_MICROS,
    });
  });

  it('ends after 55 s over all attempts', async () => {
    const clock = new ManualClock();
    let isOver = false;
    const outcome = suggestAgent('A salon', modelOf('Gladly!'), clock).finally(() => {
      isOver = true;
    });
    await clock.advance(54_999);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect(await outcome).toEqual({
      suggestion: null,
      error: 'no answer within 55 s; try again later, or check the model',
      cost_micros: ANSWER_MICROS,
    });
  });
});
