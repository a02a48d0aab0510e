/** Engines on an owner's server, for tests of their protocols. */
import { type Clock, systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import type { PlannedRecognizer, PlannedVoice } from '#config/custom-speech.ts';
import { CustomSpeech } from '#media/speech/custom/custom-speech.ts';
import type { Recognizer, Synthesizer } from '#media/speech/speech.ts';

/** Addresses that may be reached: by default those of the stand-ins. */
interface Reach {
  readonly clock?: Clock;
  readonly allow?: readonly string[];
  /** Replaces the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** The recogniser of an agent; jambonz' protocol unless named. */
export function ownRecognizer(own: Partial<PlannedRecognizer>, reach: Reach = {}): Recognizer {
  return customSpeech(reach).recognizer('agent', {
    protocol: 'jambonz',
    url: '',
    model: '',
    language: '',
    fallback: true,
    sample_rate_hz: 8_000,
    interim_results: true,
    api_key: null,
    ...own,
  });
}

/** The voice of an agent; jambonz' protocol unless named. */
export function ownVoice(own: Partial<PlannedVoice>, reach: Reach = {}): Synthesizer {
  return customSpeech(reach).synthesizer('agent', {
    protocol: 'jambonz',
    url: '',
    model: '',
    voice: '',
    language: '',
    fallback: true,
    sample_rate_hz: 24_000,
    api_key: null,
    ...own,
  });
}

function customSpeech({ clock = systemClock, allow = ['127.0.0.1'], ...resolver }: Reach): CustomSpeech {
  return new CustomSpeech({ egress: createEgressGuard({ allow, clock: systemClock, ...resolver }), clock });
}
