import { describe, expect, it } from 'vitest';
import { partAddress } from '#media/speech/vendors/azure-access.ts';
import { createAzureSynthesizer } from '#media/speech/vendors/azure-speech.ts';
import { collect } from '#test/collect.ts';
import { startAzureServer } from '#test/fakes/azure-server.ts';
import { patientClock, saidTo, speak, vendorSynthesizerConforms } from './vendor-conformance.ts';

describe('Azure synthesis', () => {
  const { begin } = vendorSynthesizerConforms(startAzureServer, createAzureSynthesizer, 'http');

  const ssmlFor = async (text: string, over: Parameters<typeof speak>[3] = {}) => {
    const { server, synthesizer } = await begin();
    await collect(speak(synthesizer, text, undefined, over));
    return String(saidTo(server)[0]?.messages[0]?.['ssml']);
  };

  it.each([
    [8_000, 'raw-8khz-16bit-mono-pcm'],
    [16_000, 'raw-16khz-16bit-mono-pcm'],
    [24_000, 'raw-24khz-16bit-mono-pcm'],
    [48_000, 'raw-48khz-16bit-mono-pcm'],
  ])('audio of %i Hz is asked for as such', async (sampleRateHz, format) => {
    const { server, synthesizer } = await begin();
    const [chunk] = await collect(speak(synthesizer, 'Hi.', undefined, { sampleRateHz }));
    expect(chunk).toMatchObject({ sampleRateHz, words: null });
    expect(saidTo(server)[0]?.headers['x-microsoft-outputformat']).toBe(format);
  });

  it('a text is spoken as it is written, never read as markup', async () => {
    const text = 'Tom & "Ann" <break time="9s"/> say 1 < 2\u0007.';
    expect(await ssmlFor(text, { voiceId: 'x"><audio src="y' })).toContain(
      '<voice name="x&quot;&gt;&lt;audio src=&quot;y">' +
        'Tom &amp; &quot;Ann&quot; &lt;break time=&quot;9s&quot;/&gt; say 1 &lt; 2 .</voice>',
    );
  });

  it('a voice of several languages is told which one it speaks', async () => {
    expect(await ssmlFor('Hallo.', { language: 'de' })).toContain(
      '<voice name="en-US-AvaMultilingualNeural"><lang xml:lang="de-DE">Hallo.</lang></voice>',
    );
    expect(await ssmlFor('Hallo.', { language: 'de', voiceId: 'de-DE-KatjaNeural' })).toContain(
      'xml:lang="de-DE"><voice name="de-DE-KatjaNeural">Hallo.</voice>',
    );
  });

  it('speed and emotion are those of the request, within what the vendor supports', async () => {
    expect(await ssmlFor('Hi.', { speed: 3, emotion: 'happy' })).toContain(
      '<mstts:express-as style="cheerful"><prosody rate="2">Hi.</prosody></mstts:express-as>',
    );
    expect(await ssmlFor('Hallo.', { speed: 3, emotion: 'happy', language: 'de' })).toContain(
      '"cheerful"><lang xml:lang="de-DE"><prosody rate="2">Hallo.</prosody></lang></mstts:express-as>',
    );
    expect(await ssmlFor('Hi.', { emotion: 'curious' })).not.toContain('express-as');
  });

  it('a refused key names the settings to check, and is not repeated', async () => {
    const { synthesizer } = await begin(patientClock, 'not-the-key');
    const error: unknown = await collect(speak(synthesizer, 'Hi.')).catch((cause: unknown) => cause);
    expect(String(error)).toMatch(/HTTP 401: check AZURE_API_KEY.*AZURE_REGION/);
    expect(String(error)).not.toContain('not-the-key');
  });
});

it.each([
  ['https://westeurope.api.cognitive.microsoft.com', 'https://westeurope.tts.speech.microsoft.com'],
  ['https://chinaeast2.api.cognitive.microsoft.com', 'https://chinaeast2.tts.speech.azure.cn'],
  ['https://usgovvirginia.api.cognitive.microsoft.us', 'https://usgovvirginia.tts.speech.azure.us'],
  ['https://bakery.cognitiveservices.azure.com', 'https://bakery.cognitiveservices.azure.com/tts'],
  ['http://127.0.0.1:5000', 'http://127.0.0.1:5000'],
])('the endpoint %s of the portal serves voices at %s', (endpoint, address) => {
  expect(partAddress(endpoint, 'tts')).toBe(address);
});

it.each([
  ['https://westeurope.api.cognitive.microsoft.com', 'https://westeurope.api.cognitive.microsoft.com'],
  ['https://chinaeast2.api.cognitive.microsoft.com', 'https://chinaeast2.api.cognitive.azure.cn'],
  ['https://usgovvirginia.api.cognitive.microsoft.com', 'https://usgovvirginia.api.cognitive.microsoft.us'],
  ['https://bakery.cognitiveservices.azure.com', 'https://bakery.cognitiveservices.azure.com'],
])('the endpoint %s transcribes recordings at %s', (endpoint, address) => {
  expect(partAddress(endpoint, 'api')).toBe(address);
});
