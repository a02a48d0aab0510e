/** A phone in a call with the demo agent that asks for its opening hours whenever the test wants. */
import { expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import type { Installation } from './installation.ts';
import { callLive, type LivePhone } from './live-phone.ts';
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

/** A phone in a call. */
export interface TalkingPhone {
  /** All audio of the agent so far, by frame. */
  readonly packets: readonly { readonly atMs: number; readonly peak: number }[];
  /** Plays 8 kHz audio; resolves at its end. */
  speak(samples: Int16Array): Promise<unknown>;
  hangUp(): Promise<void>;
}

/** The phone. */
interface AskingPhone<Phone extends TalkingPhone> {
  readonly packets: Phone['packets'];
  call(): Promise<CallSoFar>;
  /** Asks; resolves when the answer is heard and in the transcript. */
  ask(): Promise<void>;
  hangUp(): Promise<void>;
}

/** Calls the demo agent; resolves when it has greeted. */
export async function callAndListen(
  installation: Installation,
  from: string,
): Promise<AskingPhone<LivePhone>> {
  return listenOn(installation, from, await callLive(installation.sipAddress(), from));
}

/** The same with a phone that has just called; resolves when the agent has greeted. */
export async function listenOn<Phone extends TalkingPhone>(
  installation: Installation,
  from: string,
  phone: Phone,
): Promise<AskingPhone<Phone>> {
  const asking = await talkOn(installation, from, phone);
  await installation.until('it has greeted', async () => (await asking.call()).said.length > 0);
  return asking;
}

/** The same; resolves when the call is active. */
export async function talkOn<Phone extends TalkingPhone>(
  installation: Installation,
  from: string,
  phone: Phone,
): Promise<AskingPhone<Phone>> {
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
