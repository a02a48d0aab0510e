/**
 * Simulated agents that press keys: their model calls the tool at random, with words before it, beside other
 * tools and with keys that are none, and sometimes claims to press keys without it. What they press is drawn
 * apart from the call, which is otherwise that of the same seed.
 */
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ChatDelta, ChatRequest, LanguageModel } from '#runtime/llm/llm.ts';
import type { Random } from './random.ts';

const KEYS = ['2', '1w2345#', ',,204#', '9W*', 'twelve', '•w••'];
const CLAIM: ChatDelta = { type: 'text', text: 'I pressed two. ' };

/** Things that a reply does besides. */
interface Drawn {
  readonly presses: number;
  readonly claims: boolean;
  /** A menu needs no words. */
  readonly isSilent: boolean;
}

/** An agent that may press keys; without `isPressing` one that does nothing else than before. */
export class PressingAgent {
  readonly #random: Random;
  readonly #isPressing: boolean;
  #calls = 0;

  constructor(random: Random, isPressing: boolean) {
    this.#random = random;
    this.#isPressing = isPressing;
  }

  /** It may press keys by phone; half of the calls out have an extension. */
  plan(plan: CallPlan): CallPlan {
    if (!this.#isPressing) return plan;
    const { transport } = plan;
    const extension = transport.type === 'sip_outbound' && this.#random.chance(0.5) ? ',204#' : null;
    return {
      ...plan,
      press_keys: { hide_keys: this.#random.chance(0.5) },
      transport: extension === null ? transport : ({ ...transport, extension } as typeof transport),
    };
  }

  /** The model presses keys, too. */
  model(model: LanguageModel): LanguageModel {
    if (!this.#isPressing) return model;
    return { ...model, stream: (request) => this.#stream(model, request, this.#draw(request)) };
  }

  #draw({ messages, tools }: ChatRequest): Drawn {
    const random = this.#random;
    const mayPress = messages.at(-1)?.role !== 'tool' && tools.length > 0;
    const presses = mayPress && random.chance(0.3) ? random.pick([1, 1, 1, 2]) : 0;
    return { presses, claims: random.chance(0.1), isSilent: presses > 0 && random.chance(0.5) };
  }

  async *#stream(
    model: LanguageModel,
    request: ChatRequest,
    { claims, isSilent, presses }: Drawn,
  ): AsyncGenerator<ChatDelta> {
    if (claims) yield CLAIM;
    for await (const delta of model.stream(request)) {
      if (delta.type === 'finish') yield* Array.from({ length: presses }, () => this.#press());
      if (delta.type !== 'text' || !isSilent) yield delta;
    }
  }

  #press(): ChatDelta {
    const input = JSON.stringify({ keys: this.#random.pick(KEYS) });
    return { type: 'tool_call', call: { callId: `k${++this.#calls}`, toolName: '_press_keys', input } };
  }
}
