/**
 * Tells what the words on an outgoing call come from: a person, a menu, a queue, the screening of a phone, a
 * mailbox, or an announcement that leaves it open. Words that fit nothing are a person's, so that a language
 * without cues is never taken for a machine. Pure, in time linear in the text.
 */
import { LINE_CUES } from './line-cues.ts';
import { withoutAccents } from './normalised.ts';

/** The kinds of lines, by their words. `unknown`: an announcement, or words on hold that may be one. */
export type SpokenAs = 'person' | 'menu' | 'hold' | 'screening' | 'machine' | 'unknown';

/** Lines on which nobody is there yet: a menu, a queue, or the screening of a phone. */
export type Automated = Extract<SpokenAs, 'menu' | 'hold' | 'screening'>;

/** Whether the words are those of an automated line. */
export function isAutomatedLine(is: SpokenAs): is is Automated {
  return is === 'menu' || is === 'hold' || is === 'screening';
}

/** The judgement of a stretch of words. */
export interface LineWords {
  readonly is: SpokenAs;
  /** The rule, for the call's explained decisions. */
  readonly rule: string;
  /** A menu that is answered by speaking. */
  readonly isSpoken: boolean;
}

/** Characters of a stretch that are judged, from its end: nothing said at once is longer. */
const JUDGED_CHARS = 4_000;
/**
 * On a line that was automated, words without a sign of a person that are more than this are an announcement.
 */
const LONGEST_UNANNOUNCED_WORDS = 13;
/** The words by which somebody shows that they are there. */
const LONGEST_GREETING_WORDS = 4;
/** A request to wait is at the end of what is said, or all of it. */
const ASKED_WITHIN_CHARS = 70;
/** Two announcements that share this much of their words are the same one. */
const SAME_SHARE = 0.8;
/** Fewer words are repeated by people, too ("Hello? Hello?"). */
const REPEATED_FROM_WORDS = 5;

/** Lower case, without accents and punctuation. */
function folded(text: string): string {
  return withoutAccents(text.slice(-JUDGED_CHARS).toLowerCase())
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/**
 * Judges words. `isMailbox`: they are a mailbox's. `isAutomated`: the line was a menu, a queue or a screening
 * before; `isPerson`: a person was there, who may speak of keys.
 */
export function lineWords(
  text: string,
  context: { readonly isMailbox: boolean; readonly isAutomated: boolean; readonly isPerson: boolean },
): LineWords {
  const words = folded(text);
  const says = (cue: Exclude<keyof (typeof LINE_CUES)[number], 'options' | 'answered'>) =>
    LINE_CUES.some((cues) => cues[cue].test(words));
  const isQuestion = /[?？]\s*$/.test(text);
  const options = LINE_CUES.reduce((sum, cues) => sum + (words.match(cues.options)?.length ?? 0), 0);
  const isSpoken = says('spoken');
  // A mailbox has a name left; a phone that screens has it said, perhaps at a tone.
  if (!isSpoken && says('screening') && !asksPolitely(words))
    return { is: 'screening', rule: 'line_screening', isSpoken: false };
  if (context.isMailbox && !takesMessages(words))
    return { is: 'machine', rule: 'line_mailbox', isSpoken: false };
  // "Should I press one?" is a person's question.
  if (isSpoken || options > 1 || (options === 1 && !isQuestion && !context.isPerson))
    return { is: 'menu', rule: 'line_menu', isSpoken: isSpoken && options === 0 };
  if (isAddressedLast(text)) return { is: 'person', rule: 'line_person', isSpoken: false };
  return { ...withoutMenu(words, { says, isQuestion, ...context }), isSpoken: false };
}

function withoutMenu(
  words: string,
  {
    isAutomated,
    isQuestion,
    says,
  }: {
    readonly says: (cue: 'offered' | 'asked' | 'waiting' | 'announced' | 'ended' | 'greeted') => boolean;
    readonly isQuestion: boolean;
    readonly isAutomated: boolean;
  },
): Pick<LineWords, 'is' | 'rule'> {
  if (says('offered')) return { is: 'person', rule: 'line_person' };
  if (says('ended')) return { is: 'unknown', rule: 'line_ended' };
  if (says('waiting')) return { is: 'hold', rule: 'line_queue' };
  if (LINE_CUES.some(({ asked }) => asked.test(words.slice(-ASKED_WITHIN_CHARS))))
    return { is: 'hold', rule: 'line_asked_to_wait' };
  if (says('announced') && !(isQuestion && says('greeted')))
    return { is: 'unknown', rule: 'line_announcement' };
  const isLong = words.split(' ').length > LONGEST_UNANNOUNCED_WORDS;
  if (isAutomated && isLong && !isQuestion && !says('greeted'))
    return { is: 'unknown', rule: 'line_long_words' };
  return { is: 'person', rule: 'line_person' };
}

/** A person's first words follow an announcement at once: "Please stay on the line. … Hello?" */
function isAddressedLast(text: string): boolean {
  const sentences = text
    .slice(-JUDGED_CHARS)
    .split(/[.!?。？！]/)
    .map(folded);
  const last = sentences.filter((sentence) => sentence !== '').at(-1) ?? '';
  if (last.split(' ').length > LONGEST_GREETING_WORDS) return false;
  return LINE_CUES.some(({ answered, offered }) => answered.test(last) || offered.test(last));
}

/** A person at a desk asks who calls; a phone asks with words of its own beside it. */
function asksPolitely(words: string): boolean {
  return (
    /\b(?:may|can|could) i (?:ask|have|get)\b/.test(words) && !/\bcall assist\b|\bscreening\b/.test(words)
  );
}

/** A person at a desk speaks of messages and mailboxes as well, and must not be hung up on. */
function takesMessages(words: string): boolean {
  return (
    /\b(?:with me|wrong number|bei mir)\b|\b(?:put|transfer|connect|send) you\b|\bpass (?:it|that) on\b|\bhave (?:him|her|them) call\b|\b(?:may|might|rather) leave\b|\b(?:would you|shall i)\b/.test(
      words,
    ) && !/\b(?:tone|beep|ton|signal|signalton)\b/.test(words)
  );
}

/** The words of an announcement, for comparison. */
export function announced(text: string): string {
  return [...new Set(folded(text).split(' '))].join(' ');
}

/**
 * Whether an announcement was heard before: most of its words are the same. Both as `announced` gives them.
 */
export function isRepeated(words: string, earlier: string): boolean {
  const [now, before] = [words.split(' '), new Set(earlier.split(' '))];
  if (now.length < REPEATED_FROM_WORDS || before.size < REPEATED_FROM_WORDS) return false;
  const shared = now.filter((word) => before.has(word)).length;
  return shared >= SAME_SHARE * Math.max(now.length, before.size);
}
