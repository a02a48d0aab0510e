/**
 * Streamed synthesis at Azure's Speech service: one POST of SSML for each text, answered with raw PCM. This
 * API reports no times of words.
 *
 * Source: Microsoft's pages "Text to speech REST API", "Customize voice and sound with SSML" and "SSML
 * document structure and events".
 */
import { offeredRate } from '../audio/pcm-bytes.ts';
import { defaultVoice } from '../default-voice.ts';
import type { Emotion, SynthesisOptions, Synthesizer } from '../speech.ts';
import { ssmlElement, xmlText } from '../text/ssml.ts';
import { AZURE_KEY_ADVICE, AZURE_VOICES, authorization, partAddress } from './azure-access.ts';
import { speakOverHttp } from './connection/http-speech.ts';
import { refusal } from './connection/vendor-status.ts';
import { localeOf } from './locales.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** Also offered are 22.05 and 44.1 kHz, which no call has. */
const FORMATS: Readonly<Record<number, string>> = {
  8000: 'raw-8khz-16bit-mono-pcm',
  16000: 'raw-16khz-16bit-mono-pcm',
  24000: 'raw-24khz-16bit-mono-pcm',
  48000: 'raw-48khz-16bit-mono-pcm',
};
const RATES_HZ = Object.keys(FORMATS).map(Number);
/** The vendor's bounds, as a multiple of the usual speed. */
const SLOWEST = 0.5;
const FASTEST = 2;
/** The vendor requires a name of the application. */
const USER_AGENT = 'Parley';

/** The vendor's style of each emotion. A voice without that style speaks in its own. */
const STYLES: Readonly<Partial<Record<Emotion, string>>> = {
  happy: 'cheerful',
  excited: 'excited',
  calm: 'calm',
  sympathetic: 'empathetic',
  apologetic: 'empathetic',
  sad: 'sad',
};

/** Creates the synthesiser. */
export function createAzureSynthesizer(options: SpeechVendorOptions): Synthesizer {
  const { clock } = options;
  const url = `${partAddress(options.baseUrl, 'tts').replace(/^ws/, 'http')}/cognitiveservices/v1`;
  return {
    id: 'azure',
    voices: AZURE_VOICES,
    async *synthesise(text, synthesis) {
      synthesis.signal.throwIfAborted();
      if (text.trim() === '') return;
      const rateHz = offeredRate(RATES_HZ, synthesis.sampleRateHz);
      const headers = {
        ...authorization(options),
        'content-type': 'application/ssml+xml',
        'x-microsoft-outputformat': FORMATS[rateHz] ?? '',
        'user-agent': USER_AGENT,
      };
      const speech = {
        vendor: 'Azure',
        url,
        headers,
        body: ssmlOf(text, synthesis),
        rateHz,
        refusalOf: (status: number) => refusal(status, `Azure answered HTTP ${status}`, AZURE_KEY_ADVICE),
      };
      yield* speakOverHttp(speech, { clock, signal: synthesis.signal });
    },
  };
}

function ssmlOf(text: string, { voiceId, language, speed, emotion }: SynthesisOptions): string {
  const voice = voiceId ?? defaultVoice(AZURE_VOICES, language);
  const locale = localeOf(language);
  // A voice of several languages would otherwise guess the language from each text.
  const isOther = voice.includes('Multilingual') && !voice.startsWith(`${language}-`);
  const style = emotion ? STYLES[emotion] : undefined;
  const rate = Math.min(FASTEST, Math.max(SLOWEST, speed));
  // In this order: the vendor's `prosody` may contain neither of the others, and `lang` no style.
  const paced = ssmlElement('prosody', rate === 1 ? null : { rate: String(rate) }, xmlText(text));
  const spoken = ssmlElement('lang', isOther ? { 'xml:lang': locale } : null, paced);
  const styled = ssmlElement('mstts:express-as', style === undefined ? null : { style }, spoken);
  return (
    '<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" ' +
    `xmlns:mstts="https://www.w3.org/2001/mstts" xml:lang="${locale}">` +
    `${ssmlElement('voice', { name: voice }, styled)}</speak>`
  );
}
