/** Prompts of the MCP server: tasks that a person can start by name. */

interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: true;
  }[];
  text(values: Readonly<Record<string, string>>): string;
}

/** Every prompt. */
export const PROMPTS: readonly Prompt[] = [
  {
    name: 'why_was_this_call_slow',
    title: 'Why was this call slow?',
    description:
      'Finds the slow turns of a call, the part that took the time, and the setting that would help.',
    arguments: [{ name: 'session_id', description: 'Id of the call’s session.', required: true }],
    text: ({ session_id }) =>
      [
        `Find out why session ${session_id} was slow.`,
        '1. Read it with get_session_with_its_timeline: each turn has the parts of its latency, and each',
        '   long silence has an explanation.',
        '2. Name the slowest turns, with what the caller said and the part that took the longest: the wait',
        '   for the caller to go on, recognition, the model, a tool, or the voice.',
        '3. Read the agent’s draft and parley://docs/turn-taking.md, and propose the smallest change that',
        '   would have helped. If it is a setting of the conversation, replay the call with it first.',
        '4. Change the draft only. Ask before you publish.',
      ].join('\n'),
  },
  {
    name: 'build_an_agent',
    title: 'Build an agent',
    description: 'Makes a tested draft of an agent from a description.',
    arguments: [
      { name: 'description', description: 'What the agent is for, in a few sentences.', required: true },
    ],
    text: ({ description }) =>
      [
        'Build a voice agent from this description:',
        '',
        description,
        '',
        '1. Read parley://docs/concepts.md. Ask for what is missing: facts it must know, systems it must',
        '   reach, when it must transfer to a person.',
        '2. Create the agent, from a template (parley://templates/…) if one fits, and change its draft.',
        '   Write for the ear: short sentences, one question at a time, no lists or markup.',
        '3. Create its tools and knowledge, and attach them.',
        '4. Create three agent tests: the ordinary call, an unclear caller, and something it must refuse.',
        '   Run them, and change the draft until they pass.',
        '5. Show the draft and the results. Ask before you publish, buy a number or place a call.',
      ].join('\n'),
  },
];
