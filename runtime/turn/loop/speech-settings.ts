/** What a call plan asks of the speech engines: voice, key terms, and the language the caller must speak. */
import type { AgentConfig } from '#config/agent-config.ts';
import type { RecognitionEvent } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { UNINTELLIGIBLE } from '#protocol/session-record.ts';

/** The agent's voice; a null id is the engine's default voice. */
export function voiceOf({ config: { voice } }: CallPlan) {
  const isDefault = voice.voice_id === '' || voice.voice_id === 'default';
  return {
    voiceId: isDefault ? null : voice.voice_id,
    language: voice.speaking_language,
    speed: voice.speed,
  };
}

/**
 * The agent's key terms, with the opt-out phrases: an engine that recognises key terms only must recognise
 * those too. Without key terms there are none, since the phrases alone would be all that such an engine
 * recognises.
 */
export function keytermsOf({ config: { asr }, outreach }: CallPlan): readonly string[] {
  return asr.keyterms.length === 0 ? [] : [...asr.keyterms, ...(outreach?.opt_out?.phrases ?? [])];
}

/** The text of an utterance; with `asr.strict_language` a foreign one is marked as unintelligible. */
export function admittedText(
  { text, language }: Extract<RecognitionEvent, { type: 'final' }>,
  { asr, voice }: AgentConfig,
): string {
  const isForeign =
    asr.strict_language && language !== null && language.split('-')[0] !== voice.speaking_language;
  return isForeign && text.trim() !== '' ? UNINTELLIGIBLE : text;
}
