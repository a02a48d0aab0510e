/**
 * Callers who answer a question: at once, in groups of digits with pauses, with a yes that they go on from
 * ("yes … but not at the back"), with a correction, with the first of two things, or with less than was asked
 * for. The turn machine takes their turns with the question known, or unknown. Every caller is drawn from a
 * seed, so that both meet the same callers.
 */
import { TurnScript } from '../runtime/turn/turn-script.ts';
import { createRandom, logNormal, type Random } from './random.ts';

/** Words that a caller says between two pauses. */
interface Breath {
  readonly text: string;
  /** Until the next one; the last has none. */
  readonly gapMs: number;
}

/** How a caller answers. */
export type Manner =
  | 'plain'
  | 'part'
  | 'less'
  | 'yes_goes_on'
  | 'no_goes_on'
  | 'groups'
  | 'address'
  | 'corrects'
  | 'joint'
  | 'country'
  | 'adds';

interface Answering {
  readonly manner: Manner;
  readonly question: string;
  readonly breaths: readonly Breath[];
}

/** The result of one caller. */
export interface Answered {
  readonly manner: Manner;
  /** The agent was heard before the caller went on. */
  readonly isCutOff: boolean;
  /** From the end of all words until the agent is heard; null if the caller was cut off. */
  readonly waitedMs: number | null;
  /** Every word was answered once. */
  readonly isWhole: boolean;
}

const YES_NO = ['Would you like a window seat?', 'Is that correct?', 'Shall I book it for you?'];

/** One caller: `isKnown` false hides the question from the machine. */
export function answer(seed: number, isKnown: boolean): Answered {
  const random = createRandom(seed);
  const caller = draw(random);
  const heard = isKnown ? caller.question : 'I am listening.';
  const script = TurnScript.speaking(heard, { responseWaitMs: 550, responseMaxWaitMs: null });
  script.take({ type: 'playout.finished', replyId: 'r1', heard }).after(random.between(200, 900));
  // A reply is ready that long after the words are judged; the quickest models and voices need almost
  // nothing.
  const engineMs = random.pick([20, 300, 700]) * random.between(0.8, 1.2);
  for (const { text, gapMs } of caller.breaths) {
    const before = script.all('generate').length;
    const endMs = voice(script, text.split(' ').length * 280);
    script.after(random.between(40, 150)).take({ type: 'transcript.final', text });
    script.at(endMs + Math.min(gapMs, 6_000));
    const takenMs = script.all('generate')[before]?.atMs ?? Number.POSITIVE_INFINITY;
    const audibleMs = Math.max(takenMs, endMs + 200 + engineMs);
    const { manner } = caller;
    if (gapMs === Number.POSITIVE_INFINITY) {
      const said = caller.breaths.map((breath) => breath.text).join(' ');
      const isWhole = script.asked().at(-1)?.endsWith(`user: ${said}`) === true;
      return { manner, isCutOff: false, waitedMs: audibleMs - endMs, isWhole };
    }
    if (audibleMs <= endMs + gapMs) return { manner, isCutOff: true, waitedMs: null, isWhole: true };
  }
  throw new Error('the last breath has no gap');
}

/** The detector reports voice of 256 ms before it ends. */
function voice(script: TurnScript, voicedMs: number): number {
  script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256);
  script.take({ type: 'voice.reached', voicedMs: 256 }).after(voicedMs - 256);
  script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs });
  return script.nowMs;
}

function draw(random: Random): Answering {
  const choice = random.next();
  if (choice < 0.03) return part(random);
  if (choice < 0.05) return less(random);
  if (choice < 0.32) return plain(random);
  if (choice < 0.37) return adds(random);
  if (choice < 0.46) return goesOn(random, 'Yes', ['but not at the back', 'and a child seat', 'please']);
  if (choice < 0.55) return goesOn(random, 'No', ['I want the aisle', 'not today', 'thank you']);
  if (choice < 0.75) return groups(random);
  if (choice < 0.8) return corrects(random);
  if (choice < 0.85) return joint(random);
  if (choice < 0.9) return country(random);
  return { ...breathe(random, ['anna at', 'example dot com']), manner: 'address', question: ADDRESS };
}

const ADDRESS = "What's your email address?";
const PHONE = "What's your phone number?";

function plain(random: Random): Answering {
  const yesOrNo = ['Yes.', 'yes', 'Yes, please.', 'no', 'No, thanks.', "That's right."];
  const [question, text] = random.pick([
    [random.pick(YES_NO), random.pick(yesOrNo)],
    [PHONE, '555 123 4567'],
    ['Is that for pickup or delivery?', 'Delivery.'],
    ['How can I help you?', 'I want to book a table.'],
    ['Please tell me the four digit code.', 'four four one two'],
  ] as const);
  return { ...breathe(random, [text]), manner: 'plain', question };
}

/** The agent asks for a part of a thing, and gets it. */
function part(random: Random): Answering {
  const [question, text] = random.pick([
    ["I have 555 123. What's the rest of your phone number?", '4567'],
    ["What's the area code of your phone number?", '555'],
    ['In what year were you born?', '85'],
    ["When's your birthday?", 'March 5th'],
  ] as const);
  return { ...breathe(random, [text]), manner: 'part', question };
}

/** The caller has no more to give. */
function less(random: Random): Answering {
  const [question, text] = random.pick([
    ["What's your full name?", 'Maria.'],
    ["What's your date of birth?", 'March 5th'],
    [PHONE, '555 12'],
    ["What's your email address?", 'anna at example'],
  ] as const);
  return { ...breathe(random, [text]), manner: 'less', question };
}

/** The answer was whole, and something else comes to the caller's mind. */
function adds(random: Random): Answering {
  const [question, texts] = random.pick([
    [random.pick(YES_NO), ["That's right.", 'and a child seat']],
    [PHONE, ['555 123 4567', 'extension 12']],
    ['Is that for pickup or delivery?', ['Delivery.', 'to the back door']],
  ] as const);
  return { ...breathe(random, texts), manner: 'adds', question };
}

/** A caller who takes an answer back that looks whole. */
function corrects(random: Random): Answering {
  const [question, texts] = random.pick([
    [PHONE, ['555 123 4567, no.', '4568']],
    [PHONE, ['555 123 4567, um.', 'that was the old one']],
    ['Please tell me the four digit code.', ['4 4 1, no, 4', '2 2']],
    ['Is that for pickup or delivery?', ['Not delivery.', 'pickup']],
  ] as const);
  return { ...breathe(random, texts), manner: 'corrects', question };
}

/** The first of two things is whole by itself. */
function joint(random: Random): Answering {
  const [question, texts] = random.pick([
    ["What's your phone number and email?", ['555 123 4567', 'anna at gmail dot com']],
    ['Your zip code and date of birth?', ['94110', 'March 5th, 1985']],
    ['Is that correct? Please also tell me your phone number.', ['Yes, it is.', '555 123 4567']],
    ['A member number or a policy number?', ['Yes, a policy number.', '4 4 1 2']],
  ] as const);
  return { ...breathe(random, texts), manner: 'joint', question };
}

/** A number with its country code is longer than it looks. */
function country(random: Random): Answering {
  const [question, texts] = random.pick([
    [PHONE, ['44 7911 1234', '56']],
    [PHONE, ['44 20 7946', '0958']],
    [PHONE, ['plus 44 7911', '123456']],
    [PHONE, ['91 98765 432', '10']],
  ] as const);
  return { ...breathe(random, texts), manner: 'country', question };
}

/** The recogniser hears a comma or a hesitation after half of the first words. */
function goesOn(random: Random, first: 'Yes' | 'No', then: readonly string[]): Answering {
  const said = first === 'Yes' ? random.pick(['Yes', 'Yes, please', 'Yes, I do']) : first;
  const texts = [`${said}${random.pick([',', '.', '', ' um'])}`, random.pick(then)];
  const manner = first === 'Yes' ? 'yes_goes_on' : 'no_goes_on';
  return { ...breathe(random, texts, 300), manner, question: random.pick(YES_NO) };
}

function groups(random: Random): Answering {
  const [question, parts] = random.pick([
    [PHONE, ['five five five', 'one two three', 'four five six seven']],
    [PHONE, ['my number is', '555', '123', '4567']],
    ['Please tell me the six digit code.', ['one two', 'three four', 'five six']],
    ['What are the last four digits of your card?', ['44', '12']],
  ] as const);
  return { ...breathe(random, parts), manner: 'groups', question };
}

function breathe(random: Random, texts: readonly string[], medianMs = 600): Pick<Answering, 'breaths'> {
  return {
    breaths: texts.map((text, index) => ({
      text,
      gapMs: index === texts.length - 1 ? Number.POSITIVE_INFINITY : logNormal(random, medianMs),
    })),
  };
}
