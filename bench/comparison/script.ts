/** The script of the comparison: the scenes and the replies of the stand-in language model. */
import type { SceneFile } from '#caller/scene.ts';

/** Milliseconds of sound per word of the stand-in voice: three words a second, as in natural speech. */
export const WORD_MS = 330;
export const GREETING = 'Hello, how may I help you?';
export const INSTRUCTIONS = 'You are a friendly assistant on the telephone. Answer briefly.';

/** Reply when the caller asks to be told about something. */
export const LONG_REPLY =
  'Our garden was planted more than a hundred years ago by two brothers who travelled the world and came ' +
  'home with seeds. ' +
  'Today there are roses, old apple trees, and a pond with many fish.';
const SHORT_REPLY = 'Of course, that is fine.';
/** Questions of the agent, each with the words of the caller before it. */
const QUESTIONS_OF_AGENT: readonly (readonly [RegExp, string])[] = [
  [/call me back/i, 'Gladly, what is your phone number?'],
  [/send me a letter/i, 'Gladly, what is your address?'],
  [/want a table/i, 'Do you want to sit outside?'],
  [/\byes\b/i, 'And for how many people?'],
  [/^"?four\b/i, 'Shall I read that back to you?'],
];

/** Returns the reply of the stand-in language model. */
export function replyTo(asked: string): string {
  if (/tell me/i.test(asked)) return LONG_REPLY;
  return QUESTIONS_OF_AGENT.find(([pattern]) => pattern.test(asked))?.[1] ?? SHORT_REPLY;
}

/** Everything that the stand-in language model can say. */
export const REPLIES: readonly string[] = [
  LONG_REPLY,
  SHORT_REPLY,
  ...QUESTIONS_OF_AGENT.map(([, reply]) => reply),
];

type Step = SceneFile['steps'][number];
const listen = { do: 'listen', quiet_ms: 500, timeout_ms: 8_000 } as const satisfies Step;
const breath: Step = { do: 'pause', ms: [100, 400] };

/** A sentence in parts, with a pause for thought after each of these lengths. */
function hesitating(parts: readonly string[], pauseMs: number): Step[] {
  return parts.flatMap((text, index): Step[] =>
    index < parts.length - 1
      ? [
          { do: 'say', text, is_unfinished: true },
          { do: 'pause', ms: pauseMs },
        ]
      : [{ do: 'say', text }, listen],
  );
}

/** The caller interrupts a long answer. */
const INTERRUPTED: readonly Step[] = [
  { do: 'say', text: 'Tell me about the garden.' },
  { do: 'interrupt', after_ms: [2_500, 3_500], text: 'Sorry, I only want to know what it costs.' },
  listen,
];

function asking(text: string): Step[] {
  return [breath, { do: 'say', text }, listen];
}

/** Names of the scenes by what the page shows of them. */
export const SCENE = {
  questions: 'questions',
  hesitation: 'hesitation',
  dictation: 'dictation',
  short: 'short answers',
  interruption: 'interruption',
  listening: 'listening aloud',
  television: 'television',
  loss: 'packet loss',
} as const;

/** Scenes in which the agent should finish its long answer. */
export const HEARD_OUT: ReadonlySet<string> = new Set([SCENE.listening, SCENE.television]);
/** Share of the packets to the server that the scene of packet loss loses, in both directions of the call. */
export const LOSS_SHARE = 0.05;
/** Loudness of the television, relative to the caller. */
const TELEVISION_DB = -20;

/** The scenes of one round, in the order in which three at a time take the least time. */
export function scenesOf(voice: string, otherVoice: string, seed: number): SceneFile[] {
  const scene = (name: string, steps: readonly Step[]) => sceneOf(name, { voice, seed }, steps);
  return [
    scene(SCENE.dictation, [
      ...asking('Please call me back.'),
      breath,
      ...hesitating(['oh two oh seven', 'nine four six', 'oh nine five eight.'], 700),
      ...asking('And send me a letter, please.'),
      breath,
      ...hesitating(['twelve Green Lane', 'Oxford', 'O X one four A B.'], 700),
    ]),
    {
      ...scene(SCENE.television, [
        ...asking('What time do you open tomorrow?'),
        breath,
        { do: 'say', text: 'Tell me about the garden.' },
        { ...listen, quiet_ms: 900, timeout_ms: 17_000 },
      ]),
      background: { sound: 'television', level_db: TELEVISION_DB },
    },
    // The caller gives backchannels and coughs, and wants the agent to continue.
    scene(SCENE.listening, [
      { do: 'say', text: 'Tell me about the garden.' },
      { do: 'interrupt', is_backchannel: true, after_ms: [2_000, 2_500], timeout_ms: 6_000, text: 'Mhm.' },
      { do: 'sound', sound: 'cough', after_ms: [5_000, 5_500], timeout_ms: 5_000 },
      { do: 'interrupt', is_backchannel: true, after_ms: [9_000, 9_500], timeout_ms: 5_000, text: 'Yeah.' },
      { ...listen, timeout_ms: 12_000 },
    ]),
    scene(SCENE.hesitation, [
      breath,
      ...hesitating(['I would like to book a room for', 'four people tomorrow evening.'], 1_000),
      breath,
      ...hesitating(['Could you maybe', 'give me the menu by email?'], 700),
    ]),
    scene(SCENE.interruption, [
      ...INTERRUPTED,
      { do: 'say', text: 'Please tell me all about the house.' },
      { do: 'interrupt', after_ms: [1_500, 2_500], text: 'No wait, when do you close today?' },
      listen,
    ]),
    scene(SCENE.short, [
      ...asking('I want a table.'),
      ...asking('Yes.'),
      ...asking('Four.'),
      ...asking('No.'),
    ]),
    // Two people share the caller's telephone.
    scene(SCENE.questions, [
      ...asking('What time do you open tomorrow?'),
      breath,
      { do: 'say', text: 'Is there a place to park my car?', voice: otherVoice },
      listen,
      ...asking('Can I bring my dog with me?'),
    ]),
  ];
}

/** The scene of packet loss, which is played apart from the others because its calls share their server. */
export function lossSceneOf(voice: string, seed: number): SceneFile {
  return sceneOf(SCENE.loss, { voice, seed }, INTERRUPTED);
}

function sceneOf(
  name: string,
  how: { readonly voice: string; readonly seed: number },
  steps: readonly Step[],
): SceneFile {
  return { name, ...how, steps: [listen, ...steps] };
}

/** A first call, which is not counted: one question. */
export const WARM_UP_SCENE: SceneFile = {
  name: 'warm-up',
  steps: [listen, ...asking('What time do you open tomorrow?')],
};

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
 * Scene of every caller under load. `LOAD_WORDS` is the standing cue of its questions, with words of equal
 * length.
 */
export const LOAD_SCENE: SceneFile = {
  name: 'load',
  steps: [
    listen,
    ...asking('What time do you open tomorrow?'),
    ...asking('Is there a place to park my car?'),
    ...asking('Can I bring my dog with me?'),
  ],
};
export const LOAD_WORDS = ['What', 'time', 'do', 'you', 'open', 'tomorrow?'].map((text, index) => ({
  text,
  endMs: 220 * (index + 1),
}));
