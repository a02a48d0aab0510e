/** The question that the caller was asked last, at the start of a call that continues another worker's. */
import { type Expectation, expectationOf } from '../text/expectation.ts';
import type { TurnConfig } from './turn-config.ts';

/** The answer that the agent's last question on the previous worker asks for. A hold line may follow it. */
export function lastAsked({ language, resumed, slots = [] }: TurnConfig): Expectation | null {
  for (const { role, content } of resumed?.history.toReversed() ?? []) {
    if (role !== 'assistant') return null;
    const expects = expectationOf(content, language, { slots });
    if (expects !== null) return expects;
  }
  return null;
}
