/**
 * The scenes: what callers do to a voice agent, and over which kinds of line. `main.ts` plays each scene the
 * requested number of times.
 */
import type { SceneFile } from '#caller/scene.ts';

/** Encloses the reply in an agent's prompt; the stand-in model says the text between two marks. */
export const REPLY_MARK = '<<reply>>';

export const GREETING_TEXT = 'Hello, this is the agent.';
const SHORT = 'We are open from noon until ten.';
/** One sentence of about eight seconds, long enough to speak over. */
const LONG =
  'The restaurant at the old harbour opens every day at noon and the kitchen serves fresh pasta with ' +
  'grilled vegetables until ten in the evening while the garden stays open for guests who only want a drink.';

/** Settings that vary between scenes. */
export interface SceneAgent {
  /** The agent's first words; absent: those of every scene. */
  readonly greeting?: string;
  readonly reply: string;
  readonly conversation: Readonly<Record<string, unknown>>;
  readonly voice: string;
  /** Null: the stand-in that follows the script. */
  readonly recogniser: string | null;
}

/** A scene and the agent it is played to. */
export interface SceneCase {
  /** Name in the report. */
  readonly name: string;
  readonly group: 'turns' | 'answers' | 'interruptions' | 'noises' | 'lines' | 'echo' | 'settings';
  readonly over: 'phone' | 'web';
  readonly agent: SceneAgent;
  readonly scene: Omit<SceneFile, 'name' | 'seed'>;
}

export const RESPONSE_WAIT_MS = 500;
/** Like a hosted model, the stand-in model takes a few hundred milliseconds to produce its first token. */
export const FIRST_TOKEN_MS = 250;
/** The same question with and without speculation; the report shows the difference below the table. */
const PLAIN_QUESTION = 'a plain question';
const WITHOUT_SPECULATION = 'speculative_response false';
export const SPECULATION_PAIR = [PLAIN_QUESTION, WITHOUT_SPECULATION] as const;
const GREETING: SceneFile['steps'][number] = { do: 'listen', quiet_ms: 500, timeout_ms: 8_000 };
const HEAR_OUT: SceneFile['steps'][number] = { do: 'listen', quiet_ms: 700, timeout_ms: 20_000 };
const QUESTION: SceneFile['steps'][number] = { do: 'say', text: 'What are your opening hours?' };
const STOP = 'Wait, stop, I have another question.';

const plain = (reply = SHORT): SceneAgent => ({
  reply,
  conversation: { response_wait_ms: RESPONSE_WAIT_MS },
  voice: 'openai:alloy',
  recogniser: null,
});
const withSettings = (conversation: Readonly<Record<string, unknown>>, reply = SHORT): SceneAgent => ({
  ...plain(reply),
  conversation: { response_wait_ms: RESPONSE_WAIT_MS, ...conversation },
});

/** An agent that begins with a question. */
const asking = (question: string): SceneAgent => ({ ...plain(), greeting: question });

type Steps = SceneFile['steps'];
const asked = (...steps: Steps): Steps => [GREETING, { do: 'pause', ms: [100, 400] }, ...steps, HEAR_OUT];
const twoParts = (first: string, pauseMs: number, second: string): Steps =>
  asked(
    { do: 'say', text: first, is_unfinished: true },
    { do: 'pause', ms: pauseMs },
    { do: 'say', text: second },
  );
/** Asks, then runs `step` during the long reply. */
const during = (step: Steps[number]): Steps => [
  GREETING,
  { do: 'pause', ms: [100, 400] },
  QUESTION,
  step,
  HEAR_OUT,
];
const interruption: Steps[number] = { do: 'interrupt', after_ms: [1_500, 3_500], text: STOP };

const LINES: Readonly<Record<string, Partial<SceneFile>>> = {
  'noise at −20 dB': { background: { sound: 'noise', level_db: -20 } },
  'noise at −10 dB': { background: { sound: 'noise', level_db: -10 } },
  'television at −20 dB': { background: { sound: 'television', level_db: -20 } },
  'quiet speaker, −18 dB': { voice_db: -18 },
  'quiet speaker, −18 dB, in noise at −36 dB': {
    voice_db: -18,
    background: { sound: 'noise', level_db: -36 },
  },
  '5 % loss': { network: { loss: 0.05 } },
  '60 ms of jitter': { network: { jitter_ms: 60 } },
  '5 % loss, 60 ms of jitter': { network: { loss: 0.05, jitter_ms: 60 } },
};
const ECHOES: Readonly<Record<string, Partial<SceneFile>>> = {
  'echo −35 dB after 120 ms': { echo: { delay_ms: 120, loss_db: 35 } },
  'echo −25 dB after 200 ms': { echo: { delay_ms: 200, loss_db: 25 } },
  'echo −15 dB after 300 ms': { echo: { delay_ms: 300, loss_db: 15 } },
};

const turns: SceneCase[] = [
  phone(PLAIN_QUESTION, 'turns', plain(), { steps: asked(QUESTION) }),
  web(PLAIN_QUESTION, 'turns', plain(), { steps: asked(QUESTION) }),
  phone('half-said phone number', 'turns', plain(), {
    steps: twoParts('My number is five five five', 900, 'one two three four five six seven.'),
  }),
  web('half-said phone number', 'turns', plain(), {
    steps: twoParts('My number is five five five', 900, 'one two three four five six seven.'),
  }),
  phone('hesitation', 'turns', plain(), {
    steps: twoParts('I would like a table for', 900, 'two people tomorrow at seven.'),
  }),
  phone('spelling a name', 'turns', plain(), { steps: twoParts('My name is spelled S M I', 800, 'T H.') }),
  phone('an e-mail address in two parts', 'turns', plain(), {
    steps: twoParts('My address is anna at', 900, 'example dot com.'),
  }),
  phone('a resumed question', 'turns', plain(), {
    steps: twoParts('Do you have a table', 350, 'for two people tonight?'),
  }),
];

const PHONE_NUMBER = "What's your phone number?";
const answers: SceneCase[] = [
  phone('asked for a phone number', 'answers', asking(PHONE_NUMBER), {
    steps: asked({ do: 'say', text: 'five five five one two three four five six seven.' }),
  }),
  phone('asked for a phone number, half-said', 'answers', asking(PHONE_NUMBER), {
    steps: twoParts('five five five', 900, 'one two three four five six seven.'),
  }),
  phone('asked for a phone number, in tens', 'answers', asking(PHONE_NUMBER), {
    steps: twoParts('five five five twelve', 900, 'thirty four fifty six seven.'),
  }),
  phone('asked to spell a name', 'answers', asking('How do you spell Smith?'), {
    steps: twoParts('S M I', 800, 'T H.'),
  }),
  phone('asked for a date of birth', 'answers', asking("What's your date of birth?"), {
    steps: twoParts('The fifth of March', 900, 'nineteen eighty five.'),
  }),
  phone('asked whether it is correct', 'answers', asking('The table is for two. Is that correct?'), {
    steps: asked({ do: 'say', text: 'Yes, that is correct.' }),
  }),
  phone('asked which of two', 'answers', asking('Is that for pickup or delivery?'), {
    steps: asked({ do: 'say', text: 'Delivery.' }),
  }),
];

const interruptions: SceneCase[] = [
  phone('real interruption', 'interruptions', plain(LONG), { steps: during(interruption) }),
  web('real interruption', 'interruptions', plain(LONG), { steps: during(interruption) }),
  phone(
    'real interruption, voice with word times',
    'interruptions',
    { ...plain(LONG), voice: 'local:slt' },
    { steps: during(interruption) },
  ),
  phone('two words: stop please', 'interruptions', plain(LONG), {
    steps: during({ do: 'interrupt', after_ms: [1_500, 3_000], text: 'Stop please.' }),
  }),
  phone('one word: stop', 'interruptions', plain(LONG), {
    // The word is over before the agent falls silent. That silence is not the reply, so keep listening.
    steps: [
      ...during({ do: 'interrupt', after_ms: [1_500, 3_000], text: 'Stop.' }),
      { do: 'listen', quiet_ms: 1_500, timeout_ms: 20_000 },
    ],
  }),
  phone('interruption just after the reply begins', 'interruptions', plain(LONG), {
    steps: during({
      do: 'interrupt',
      after_ms: [300, 600],
      text: 'Actually I wanted to ask about parking near the harbour.',
    }),
  }),
];

const noises: SceneCase[] = [
  phone('backchannel: mhm', 'noises', plain(LONG), {
    steps: during({ do: 'interrupt', after_ms: [1_500, 2_500], text: 'Mhm.', is_backchannel: true }),
  }),
  phone('backchannel: yeah, okay', 'noises', plain(LONG), {
    steps: during({ do: 'interrupt', after_ms: [1_500, 2_500], text: 'Yeah, okay.', is_backchannel: true }),
  }),
  web('backchannel: yeah, okay', 'noises', plain(LONG), {
    steps: during({ do: 'interrupt', after_ms: [1_500, 2_500], text: 'Yeah, okay.', is_backchannel: true }),
  }),
  phone('cough', 'noises', plain(LONG), {
    steps: during({ do: 'sound', sound: 'cough', after_ms: [1_500, 2_500] }),
  }),
  phone('door', 'noises', plain(LONG), {
    steps: during({ do: 'sound', sound: 'door', after_ms: [1_500, 2_500] }),
  }),
];

const lines = Object.entries(LINES).map(([name, conditions]) =>
  phone(name, 'lines', plain(LONG), { ...conditions, steps: during(interruption) }),
);

const echoes = Object.entries(ECHOES).flatMap(([name, conditions]) => [
  phone(`${name}, heard out`, 'echo', plain(LONG), { ...conditions, steps: asked(QUESTION) }),
  phone(`${name}, interrupted`, 'echo', plain(LONG), { ...conditions, steps: during(interruption) }),
]);
echoes.push(
  web('echo −25 dB after 200 ms, heard out', 'echo', plain(LONG), {
    ...ECHOES['echo −25 dB after 200 ms'],
    steps: asked(QUESTION),
  }),
);

const settings: SceneCase[] = [
  phone('response_wait_ms 300', 'settings', withSettings({ response_wait_ms: 300 }), {
    steps: asked(QUESTION),
  }),
  phone('response_wait_ms 2000', 'settings', withSettings({ response_wait_ms: 2_000 }), {
    steps: asked(QUESTION),
  }),
  phone('eagerness eager, hesitation', 'settings', withSettings({ eagerness: 'eager' }), {
    steps: twoParts('I would like a table for', 900, 'two people tomorrow at seven.'),
  }),
  phone('eagerness relaxed, hesitation', 'settings', withSettings({ eagerness: 'relaxed' }), {
    steps: twoParts('I would like a table for', 900, 'two people tomorrow at seven.'),
  }),
  phone('response_max_wait_ms 500, hesitation', 'settings', withSettings({ response_max_wait_ms: 500 }), {
    steps: twoParts('I would like a table for', 900, 'two people tomorrow at seven.'),
  }),
  phone('response_max_wait_ms 4000, hesitation', 'settings', withSettings({ response_max_wait_ms: 4_000 }), {
    steps: twoParts('I would like a table for', 2_000, 'two people tomorrow at seven.'),
  }),
  phone(
    'interruption_ignore_phrases lists the phrase',
    'settings',
    withSettings({ interruption_ignore_phrases: ['just a second'] }, LONG),
    {
      steps: during({
        do: 'interrupt',
        after_ms: [1_500, 2_500],
        text: 'Just a second.',
        is_backchannel: true,
      }),
    },
  ),
  phone(
    'interruption_ignore_phrases empty',
    'settings',
    withSettings({ interruption_ignore_phrases: [] }, LONG),
    {
      steps: during({ do: 'interrupt', after_ms: [1_500, 2_500], text: 'Just a second.' }),
    },
  ),
  phone(WITHOUT_SPECULATION, 'settings', withSettings({ speculative_response: false }), {
    steps: asked(QUESTION),
  }),
  phone(
    'interruption_sensitivity high',
    'settings',
    withSettings({ interruption_sensitivity: 'high' }, LONG),
    { steps: during(interruption) },
  ),
  phone('interruption_sensitivity low', 'settings', withSettings({ interruption_sensitivity: 'low' }, LONG), {
    steps: during(interruption),
  }),
  phone('interruptible false', 'settings', withSettings({ interruptible: false }, LONG), {
    steps: during({ ...interruption, is_backchannel: true }),
  }),
];

/** All scenes. */
export const SCENES: readonly SceneCase[] = [
  ...turns,
  ...answers,
  ...interruptions,
  ...noises,
  ...lines,
  ...echoes,
  ...settings,
];

function phone(
  name: string,
  group: SceneCase['group'],
  agent: SceneAgent,
  scene: SceneCase['scene'],
): SceneCase {
  return { name, group, over: 'phone', agent, scene };
}

function web(
  name: string,
  group: SceneCase['group'],
  agent: SceneAgent,
  scene: SceneCase['scene'],
): SceneCase {
  return { name, group, over: 'web', agent, scene };
}
