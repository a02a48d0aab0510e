/**
 * Journey: an agent's owner runs a recogniser and a voice of their own. A phone call hears through one and
 * speaks with the other, with the owner's keys.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallOutcome } from '#caller/caller.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { type JambonzServer, startJambonzServer } from '#test/fakes/jambonz-server.ts';
import { type ChatBody, say } from '#test/fakes/openai-server.ts';
import type { VendorStage } from './vendor-stage.ts';

/** Ports of the caller. */
const PORTS = { first: 30_260, last: 30_279 };
const NUMBER = '+15550100655';
const HEARD = 'when do you open';
const ANSWER = 'We open at nine.';
const API_KEY = 'the-owners-key';

/** Describes it on a shared product. */
export function describeCustomSpeech(stage: VendorStage): void {
  describe('an agent with a recogniser and a voice of its owner', () => {
    let own: JambonzServer;
    let outcome: CallOutcome;

    beforeAll(async () => {
      stage.answer = ({ messages }: ChatBody) =>
        say(JSON.stringify(messages).includes(HEARD) ? ANSWER : 'OK.');
      own = await startJambonzServer({ lines: [HEARD], apiKey: API_KEY, contentType: 'audio/wav' });
      const { agent_id } = await stage.product.ask('POST', '/v1/agent/agents', {
        name: 'Own speech',
        config: {
          prompt: { system_prompt: 'You answer.', first_message_mode: 'fixed', first_message: 'Hello.' },
          llm: { model: 'openai/test-model' },
          custom_speech: {
            asr: { url: own.sttUrl, api_key: API_KEY, fallback: false },
            tts: { url: own.ttsUrl, api_key: API_KEY, voice: 'ann', fallback: false },
          },
        },
      });
      await stage.product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
      await stage.product.ask('POST', '/v1/agent/phone-numbers', {
        provider: 'managed',
        phone_number: NUMBER,
        agent_id,
      });
      const scene = prepareScene({
        name: 'opening hours',
        steps: [{ do: 'listen' }, { do: 'say', text: HEARD }, { do: 'listen' }],
      });
      ({ outcome } = await new PhoneCaller({ ports: PORTS }).call({
        target: stage.product.sipAddress(NUMBER),
        scene,
      }));
    }, 120_000);
    afterAll(() => own?.close());

    it('hears the caller through it, and says the answer with it', () => {
      expect(outcome).toEqual({ type: 'answered', endedBy: 'caller' });
      expect(own.connections[0]?.messages[0]).toMatchObject({ type: 'start', language: 'en' });
      expect(own.texts.map(({ body }) => [body['voice'], body['text']])).toEqual(
        expect.arrayContaining([
          ['ann', 'Hello.'],
          ['ann', ANSWER],
        ]),
      );
    });
  });
}
