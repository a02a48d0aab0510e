/** A phone in a call with the demo agent that asks for its opening hours whenever the test wants. */
import { expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import type { HeardPacket } from '#test/fakes/rtp-peer.ts';
import type { Installation } from './installation.ts';
import { callLive } from './live-phone.ts';
import { ASKED, QUESTION, record } from './microphone.ts';

const RATE_HZ = 8_000;
/** The agent waits for a pause before it answers. */
const PAUSE_SECONDS = 1;
/** Above the level of coded silence. */
const VOICE_PEAK = 1_000;

/** What is in the transcript after each question. */
export const ASKED_AND_ANSWERED = [
  expect.stringMatching(new RegExp(`^user: .*${ASKED.source}`, ASKED.flags)),
  expect.stringMatching(/^assistant: We are open every day/),
];

/** A session's state and its transcript so far. */
export interface CallSoFar {
  readonly status: string;
  readonly end_reason: string | null;
  /** Lines such as `user: Hello`. */
  readonly said: readonly string[];
}

/** Reads a session. */
export async function callSoFar(installation: Installation, sessionId: string): Promise<CallSoFar> {
  const { status, end_reason, items } = await installation.ask('GET', `/v1/agent/sessions/${sessionId}`);
  return { status, end_reason, said: linesOf(items) };
}

/** The transcript as lines such as `user: Hello`. */
export function linesOf(items: readonly { readonly role: string; readonly content: string }[]): string[] {
  return items.map(({ role, content }) => `${role}: ${content}`);
}

/** The phone. */
interface AskingPhone {
  /** All packets of the agent so far. */
  readonly packets: readonly HeardPacket[];
  call(): Promise<CallSoFar>;
  /** Asks; resolves when the answer is heard and in the transcript. */
  ask(): Promise<void>;
  hangUp(): Promise<void>;
}

/** Calls the demo agent; resolves when it has greeted. */
export async function callAndListen(installation: Installation, from: string): Promise<AskingPhone> {
  const phone = await callLive(installation.sipAddress(), from);
  const find = `/v1/agent/sessions?status=active&caller_number=${encodeURIComponent(from)}`;
  const active = async () => (await installation.ask('GET', find)).sessions;
  await installation.until('the session is active', async () => (await active()).length === 1);
  const [{ session_id: id }] = await active();
  const call = () => callSoFar(installation, id);
  const hasSaid = (what: string, lines: number) =>
    installation.until(what, async () => {
      const { said } = await call();
      // The recogniser may split an utterance in two.
      return said.length >= lines && said.at(-1)?.startsWith('assistant: ') === true;
    });
  await hasSaid('it has greeted', 1);
  return {
    packets: phone.packets,
    call,
    async ask() {
      const before = (await call()).said.length;
      await phone.speak(record([QUESTION, PAUSE_SECONDS], RATE_HZ));
      const askedMs = systemClock.now() - PAUSE_SECONDS * 1000;
      await installation.until('the answer is heard', () =>
        phone.packets.some(({ atMs, peak }) => atMs > askedMs && peak > VOICE_PEAK),
      );
      await hasSaid('it has answered', before + 2);
    },
    hangUp: () => phone.hangUp(),
  };
}
