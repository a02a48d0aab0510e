/**
 * What the timestamped variants say beside the audio (4.10): all that is known of the chunk so far, in
 * seconds from its beginning.
 */
import type { AudioPiece } from '#media/speech/pool/speech-jobs.ts';

/** The fields beside the audio; `alignment` replaces the one before it of the same chunk. */
export function timedPiece({ chunk }: AudioPiece) {
  return {
    content: chunk.text,
    alignment: chunk.words === null ? null : { segments: chunk.words, audio_duration: chunk.seconds },
    chunk_seq: chunk.seq,
    chunk_audio_offset_sec: chunk.offsetSeconds,
  };
}
