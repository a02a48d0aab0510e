/**
 * The fields sent with the audio in the variants with timestamps: all word times of the chunk so far, in
 * seconds from its start.
 */
import type { AudioPiece } from '#media/speech/pool/speech-jobs.ts';

/** The fields beside the audio; `alignment` replaces the previous one of the same chunk. */
export function timedPiece({ chunk }: AudioPiece) {
  return {
    content: chunk.text,
    alignment: chunk.words === null ? null : { segments: chunk.words, audio_duration: chunk.seconds },
    chunk_seq: chunk.seq,
    chunk_audio_offset_sec: chunk.offsetSeconds,
  };
}
