/** A phone that asks the demo agent for its opening hours until it gets them. */
import { linesOf } from './asked-by-phone.ts';
import { callLive } from './live-phone.ts';
import { QUESTION, record } from './microphone.ts';
import type { Product } from './product.ts';

const RATE_HZ = 8_000;
/** A busy machine may miss the first question: people ask again. */
const SAID_TIMES = 4;
const ANSWER_MS = 15_000;

/** Calls, asks until it is answered, hangs up, and returns the transcript. */
export async function saidInCall(product: Product, from: string): Promise<string[]> {
  const phone = await callLive(product.sipAddress(), from);
  const items = async (): Promise<{ role: string; content: string }[]> => {
    const { sessions } = await product.ask(
      'GET',
      `/v1/agent/sessions?caller_number=${encodeURIComponent(from)}`,
    );
    if (!sessions[0]) return [];
    return (await product.ask('GET', `/v1/agent/sessions/${sessions[0].session_id}`)).items;
  };
  await product.until('it greets', async () => (await items()).length > 0);
  for (let times = 0; times < SAID_TIMES; times++) {
    await phone.speak(record([QUESTION, 3], RATE_HZ));
    const isAnswered = async () => (await items()).some(({ content }) => content.includes('noon'));
    if (
      await product.until('it answers', isAnswered, ANSWER_MS).then(
        () => true,
        () => false,
      )
    )
      break;
  }
  await phone.hangUp();
  return linesOf(await items());
}
