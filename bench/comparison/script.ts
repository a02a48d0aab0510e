/** The script of the comparison: the scenes and the replies of the stand-in language model. */
import type { SceneFile } from '#caller/scene.ts';

/** Milliseconds of sound per word of the stand-in voice: three words a second, as in natural speech. */
export const WORD_MS = 330;
export const GREETING = 'Hello and welcome, how may I help you today?';
export const INSTRUCTIONS = 'You are a friendly assistant on the telephone. Answer briefly.';

/** Reply when the caller asks to be told about something. */
export const LONG_REPLY =
  'Our garden was planted more than a hundred years ago by two brothers who travelled the world and came ' +
  'home with seeds. ' +
  'Today there are roses, old apple trees, a pond with many fish, and a small house where we serve tea.';
const SHORT_REPLY = 'Of course, that is no trouble for us at all.';

/** Returns the reply of the stand-in language model. */
export function replyTo(asked: string): string {
  return /tell me/i.test(asked) ? LONG_REPLY : SHORT_REPLY;
}

type Step = SceneFile['steps'][number];
const listen = { do: 'listen', quiet_ms: 700, timeout_ms: 12_000 } as const satisfies Step;
const breath: Step = { do: 'pause', ms: [100, 500] };

/** Complete questions, one after another. */
const QUESTIONS: SceneFile = {
  name: 'questions',
  steps: [
    listen,
    ...[
      'What time do you open tomorrow?',
      'Is there a place to park my car?',
      'Can I bring my dog with me?',
      'Do I have to book a table?',
    ].flatMap((text): Step[] => [breath, { do: 'say', text }, listen]),
  ],
};

/** Sentences with a pause for thought. */
const HESITATION: SceneFile = {
  name: 'hesitation',
  steps: [
    listen,
    breath,
    { do: 'say', text: 'I would like to book a table for', is_unfinished: true },
    { do: 'pause', ms: 1_000 },
    { do: 'say', text: 'four people tomorrow evening.' },
    listen,
    breath,
    { do: 'say', text: 'My telephone number is five five five', is_unfinished: true },
    { do: 'pause', ms: 800 },
    { do: 'say', text: 'one two three four.' },
    listen,
    breath,
    { do: 'say', text: 'Could you maybe', is_unfinished: true },
    { do: 'pause', ms: 700 },
    { do: 'say', text: 'send me the menu by email?' },
    listen,
  ],
};

/** A caller who interrupts a long answer twice. */
const INTERRUPTION: SceneFile = {
  name: 'interruption',
  steps: [
    listen,
    { do: 'say', text: 'Tell me about the garden.' },
    { do: 'interrupt', after_ms: [2_500, 3_500], text: 'Sorry, I only want to know what it costs.' },
    listen,
    { do: 'say', text: 'Please tell me all about the house.' },
    { do: 'interrupt', after_ms: [1_500, 2_500], text: 'No wait, when do you close today?' },
    listen,
  ],
};

/** A caller who gives backchannels and coughs, and wants the agent to continue. */
const LISTENING: SceneFile = {
  name: 'listening aloud',
  steps: [
    listen,
    { do: 'say', text: 'Tell me about the garden.' },
    { do: 'interrupt', is_backchannel: true, after_ms: [2_000, 2_500], timeout_ms: 6_000, text: 'Mhm.' },
    { do: 'sound', sound: 'cough', after_ms: [6_000, 6_500], timeout_ms: 5_000 },
    { do: 'interrupt', is_backchannel: true, after_ms: [10_000, 10_500], timeout_ms: 5_000, text: 'Yeah.' },
    { ...listen, timeout_ms: 15_000 },
  ],
};

/** The scenes of one round. */
export const SCENES: readonly SceneFile[] = [QUESTIONS, HESITATION, INTERRUPTION, LISTENING];

/** The second question is asked while an engine is broken, the third after it has recovered. */
export const FAULT_SCENE: SceneFile = {
  name: 'an engine dies',
  steps: [
    listen,
    { do: 'say', text: 'What time do you open tomorrow?' },
    listen,
    { do: 'say', text: 'Is there a place to park my car?' },
    { do: 'pause', ms: 12_000 },
    { do: 'say', text: 'Can I bring my dog with me?' },
    { ...listen, timeout_ms: 12_000 },
  ],
};

/** The line at which the engine breaks, and the line before which it is repaired. */
export const FAULT_LINES = { breaks: 1, mends: 2 } as const;

/**
 * Scene of every caller under load. `LOAD_WORDS` is the standing cue of its first question, with words of
 * equal length.
 */
export const LOAD_SCENE: SceneFile = QUESTIONS;
export const LOAD_WORDS = ['What', 'time', 'do', 'you', 'open', 'tomorrow?'].map((text, index) => ({
  text,
  endMs: 220 * (index + 1),
}));
