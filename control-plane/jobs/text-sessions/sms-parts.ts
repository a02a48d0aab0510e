/** Cuts an answer into text messages. Pure. */

/** Carriers refuse longer texts; they are sent in segments, and a phone shows them as one message. */
const PART_CHARS = 1_600;
/** A longer answer is cut. */
const MOST_PARTS = 3;
const CUT = '…';

/** The parts of an answer, each cut at the last sentence or word that fits. */
export function smsParts(text: string): string[] {
  const parts: string[] = [];
  let rest = text.trim();
  while (rest !== '' && parts.length < MOST_PARTS) {
    const isLast = parts.length === MOST_PARTS - 1;
    const length = rest.length <= PART_CHARS ? rest.length : cutOf(rest, PART_CHARS - CUT.length);
    const part = rest.slice(0, length).trim();
    rest = rest.slice(length).trim();
    parts.push(isLast && rest !== '' ? `${part}${CUT}` : part);
  }
  return parts;
}

function cutOf(text: string, most: number): number {
  const head = text.slice(0, most);
  const sentence = Math.max(...['. ', '! ', '? ', '\n'].map((end) => head.lastIndexOf(end))) + 1;
  if (sentence > most / 2) return sentence;
  const word = head.lastIndexOf(' ');
  if (word > most / 2) return word;
  // Not between the halves of a character.
  return /[\uD800-\uDBFF]$/.test(head) ? most - 1 : most;
}
