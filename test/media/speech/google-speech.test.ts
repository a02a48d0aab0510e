import { describe, expect, it } from 'vitest';
import { createGoogleSynthesizer } from '#media/speech/vendors/google-speech.ts';
import { collect } from '#test/collect.ts';
import { startGoogleVoiceServer } from '#test/fakes/google-voice-server.ts';
import { patientClock, saidTo, speak, timedWords, vendorSynthesizerConforms } from './vendor-conformance.ts';

describe('Google synthesis', () => {
  const { begin } = vendorSynthesizerConforms(startGoogleVoiceServer, createGoogleSynthesizer, 'http');

  const requestFor = async (over: Parameters<typeof speak>[3]) => {
    const { server, synthesizer } = await begin();
    await collect(speak(synthesizer, 'Hi.', undefined, over));
    return saidTo(server)[0]?.messages[0];
  };

  it('asks for the encoding that every voice has, at a rate that calls have', async () => {
    expect(await requestFor({ sampleRateHz: 22_050 })).toMatchObject({
      audioConfig: { audioEncoding: 'LINEAR16', sampleRateHertz: 24_000 },
    });
  });

  it('a voice without a locale speaks the agent’s language, and one with a locale its own', async () => {
    expect(await requestFor({ language: 'de' })).toMatchObject({
      voice: { languageCode: 'de-DE', name: 'de-DE-Chirp3-HD-Kore' },
    });
    expect(await requestFor({ language: 'zh', voiceId: 'Chirp3-HD-Puck' })).toMatchObject({
      voice: { languageCode: 'cmn-CN', name: 'cmn-CN-Chirp3-HD-Puck' },
    });
    expect(await requestFor({ language: 'de', voiceId: 'en-GB-Neural2-A' })).toMatchObject({
      voice: { languageCode: 'en-GB', name: 'en-GB-Neural2-A' },
    });
  });

  it('a voice that reads marks reports the time of every word', async () => {
    const { server, synthesizer } = await begin();
    const text = 'Salt & pepper, <or> not?';
    const chunks = await collect(speak(synthesizer, text, undefined, { voiceId: 'en-US-Neural2-C' }));
    expect(timedWords(text, chunks)).toEqual(text.split(' ').map((word, index) => [word, index * 100]));
    expect(saidTo(server)[0]?.path).toBe('/v1beta1/text:synthesize');
    expect(chunks.every(({ words }) => words !== null)).toBe(true);
  });

  it('the speed is that of the request, within what the vendor supports', async () => {
    expect(await requestFor({ speed: 3 })).toMatchObject({ audioConfig: { speakingRate: 2 } });
  });

  it('a refused key names the settings to check, and is not repeated', async () => {
    const { synthesizer } = await begin(patientClock, 'not-the-key');
    const error: unknown = await collect(speak(synthesizer, 'Hi.')).catch((cause: unknown) => cause);
    expect(String(error)).toMatch(/HTTP 400: check GOOGLE_CLOUD_API_KEY/);
    expect(String(error)).not.toContain('not-the-key');
  });
});
