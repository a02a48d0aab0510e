/**
 * Music on hold, synthesised so that no licence is needed: slow arpeggios of plucked sines over four chords,
 * the same loop for every call.
 */

/** Notes of each chord in semitones above A3, and the time between notes, ms. */
const CHORDS = [
  [0, 4, 7, 12, 7, 4],
  [-3, 0, 4, 9, 4, 0],
  [-7, -3, 0, 5, 0, -3],
  [-5, -1, 2, 7, 2, -1],
] as const;
const NOTE_MS = 500;
const A3_HZ = 220;
/** About −18 dBFS: quieter than a voice, louder than line noise. */
const AMPLITUDE = 3_500;
/** A plucked note decays to a third after this long. */
const DECAY_MS = 450;
/** Attack without a click. */
const ATTACK_MS = 8;
/** A note still sounds while the next ones begin. */
const NOTES_HEARD = 3;

const loops = new Map<number, Int16Array>();

/** The loop at this rate, Hz; generated at the first call, then shared. */
export function holdMusic(rateHz: number): Int16Array {
  const cached = loops.get(rateHz);
  if (cached) return cached;
  const notes = CHORDS.flat();
  const noteSamples = (NOTE_MS * rateHz) / 1_000;
  const loop = new Int16Array(notes.length * noteSamples);
  for (const [index, semitones] of notes.entries())
    addNote(loop, { at: index * noteSamples, hz: A3_HZ * 2 ** (semitones / 12), rateHz });
  loops.set(rateHz, loop);
  return loop;
}

function addNote(
  loop: Int16Array,
  note: { readonly at: number; readonly hz: number; readonly rateHz: number },
): void {
  const { at, hz, rateHz } = note;
  const length = (NOTES_HEARD * NOTE_MS * rateHz) / 1_000;
  for (let n = 0; n < length; n++) {
    const ms = (n * 1_000) / rateHz;
    const strength = Math.min(1, ms / ATTACK_MS) * Math.exp(-ms / DECAY_MS);
    const index = (at + n) % loop.length;
    loop[index] =
      (loop[index] ?? 0) + Math.round(AMPLITUDE * strength * Math.sin((2 * Math.PI * hz * n) / rateHz));
  }
}
