/** Tries a local model once: whether it calls a tool, and how fast it writes. */
import type { Clock } from '#base/clock.ts';
import type { LocalModel } from '#config/local-models.ts';
import { type ChatRequest, type LanguageModel, ModelError, type ToolDefinition } from '../llm.ts';
import { createLocalModel } from './local-model.ts';

/** The first request may load the model from a disk. */
const STALL_MS = 120_000;
/** For both requests: a server may send a byte now and then without end. */
const TRIAL_MS = 180_000;
const ANSWER_TOKENS = 64;
/** Statuses of a server without tools. With any other it may call one later. */
const TOOLS_REFUSED = [400, 422, 501];
/** Tokens per second. */
const MAX_SPEED = 100_000;
const CLOCK: ToolDefinition = {
  name: 'get_time',
  description: 'Returns the current time.',
  arguments: [{ name: 'city', description: 'The city' }],
};

/** Results of a trial. */
export type Tried = Pick<LocalModel, 'tools' | 'tokens_per_second'>;

/** Throws `ModelError` when the model does not answer, and the signal's reason when it aborts. */
export async function tryModel(model: LocalModel, clock: Clock, signal: AbortSignal): Promise<Tried> {
  const asked = createLocalModel({ model: { ...model, tools: null }, clock, stallMs: STALL_MS });
  const late = new AbortController();
  const timer = clock.after(TRIAL_MS, () =>
    late.abort(new ModelError(`The trial took longer than ${TRIAL_MS / 1_000} s`, { retryable: true })),
  );
  const run = (content: string, tools: readonly ToolDefinition[]) =>
    answerTo(asked, clock, {
      messages: [{ role: 'user', content }],
      tools,
      maxOutputTokens: ANSWER_TOKENS,
      sessionId: '',
      endUserId: null,
      extraBody: null,
      speculative: false,
      signal: AbortSignal.any([signal, late.signal]),
    });
  try {
    // Loads the model, which is no part of its speed; and a server that refuses this refuses more than tools.
    await run('Hello!', []);
    const { tokens, ms } = await run('Write a poem about the sea in ten lines.', []);
    const tools = await run('Call the tool get_time for Paris.', [CLOCK]).then<
      LocalModel['tools'],
      'refused'
    >(
      (answer) => (answer.calledTool ? 'called' : 'not_called'),
      (error: unknown) => {
        if (error instanceof ModelError && TOOLS_REFUSED.includes(error.status ?? 0)) return 'refused';
        throw error;
      },
    );
    return { tools, tokens_per_second: speedOf(tokens, ms) };
  } finally {
    timer.cancel();
  }
}

/** Tokens per second to one decimal; null when the server's count gives no speed that a model has. */
function speedOf(tokens: number, ms: number): number | null {
  const speed = Math.round((tokens / ms) * 10_000) / 10;
  return speed > 0 && speed <= MAX_SPEED ? speed : null;
}

async function answerTo(model: LanguageModel, clock: Clock, request: ChatRequest) {
  const startedMs = clock.now();
  let [tokens, calledTool] = [0, false];
  for await (const delta of model.stream(request)) {
    if (delta.type === 'tool_call') calledTool = true;
    if (delta.type === 'finish') tokens = delta.usage.outputTokens ?? 0;
  }
  return { calledTool, tokens, ms: Math.max(1, clock.now() - startedMs) };
}
