/**
 * A transcript in the vendors' formats: words with times, subtitles, the general vendor's verbose form. Pure.
 */
import type { TimedText, Transcript } from '#media/speech/pool/speech-jobs.ts';

/**
 * Words with their times in seconds. Engines report times of whole segments; within one, a word's duration is
 * proportional to its characters.
 */
export function wordsOf({ segments }: Pick<Transcript, 'segments'>): TimedText[] {
  return segments.flatMap(({ text, start, end }) => {
    const words = [...text.matchAll(/\S+/g)];
    const perCharacter = text.length === 0 ? 0 : (end - start) / text.length;
    return words.map((match) => ({
      text: match[0],
      start: start + match.index * perCharacter,
      end: start + (match.index + match[0].length) * perCharacter,
    }));
  });
}

/** SubRip. */
export function toSrt({ segments }: Pick<Transcript, 'segments'>): string {
  return segments
    .map(
      ({ text, start, end }, index) => `${index + 1}\n${time(start, ',')} --> ${time(end, ',')}\n${text}\n\n`,
    )
    .join('');
}

/** WebVTT. */
export function toVtt({ segments }: Pick<Transcript, 'segments'>): string {
  const cues = segments.map(
    ({ text, start, end }) => `${time(start, '.')} --> ${time(end, '.')}\n${text}\n\n`,
  );
  return `WEBVTT\n\n${cues.join('')}`;
}

/** The verbose form; `language` is the requested one. Fields of the vendor's own engine are constant. */
export function toVerbose(
  transcript: Transcript,
  { language, withWords }: { language: string; withWords: boolean },
) {
  return {
    task: 'transcribe',
    language,
    duration: transcript.durationSeconds,
    text: transcript.text,
    segments: transcript.segments.map(({ text, start, end }, id) => ({
      id,
      seek: 0,
      start,
      end,
      text,
      tokens: [],
      temperature: 0,
      avg_logprob: 0,
      compression_ratio: 1,
      no_speech_prob: 0,
    })),
    ...(withWords
      ? { words: wordsOf(transcript).map(({ text, start, end }) => ({ word: text, start, end })) }
      : {}),
    usage: usageOf(transcript),
  };
}

/** Usage of a transcription. */
export function usageOf({ durationSeconds }: Pick<Transcript, 'durationSeconds'>) {
  return { type: 'duration', seconds: Math.ceil(durationSeconds) };
}

function time(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1_000);
  const pad = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, '0');
  const clock = [pad(ms / 3_600_000), pad((ms / 60_000) % 60), pad((ms / 1_000) % 60)].join(':');
  return `${clock}${point}${pad(ms % 1_000, 3)}`;
}
