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
        '   If it is the wait for the caller, tune_agent_on_its_latest_calls tells whether a shorter one',
        '   would have cut off the callers of other calls.',
        '4. Change the draft only. Ask before you publish.',
      ].join('\n'),
  },
  {
    name: 'is_this_agent_ready',
    title: 'Is this agent ready for calls?',
    description: 'Checks what stands between an agent and its callers, and names a remedy for each.',
    arguments: [{ name: 'agent_id', description: 'Id of the agent.', required: true }],
    text: ({ agent_id }) =>
      [
        `Check whether agent ${agent_id} is ready for calls. Change nothing.`,
        '1. Profile: get_agent_profile has warnings, and says whether it is published and whether the draft',
        '   has unpublished changes; compare_agent_draft_with_its_published_version lists them.',
        '2. Draft: get_agent_draft_configuration. Look for an empty prompt, a webhook without a secret, and',
        '   texts that name tools or transfers it does not have. run_tests_against_agent_draft, if it has',
        '   tests (their models cost what they cost); say so if it has none.',
        '3. Tools: compare_agent_pinned_tools_with_its_servers shows servers that have changed.',
        '4. Callers: list_phone_numbers tells which numbers this agent answers. get_agent_limits and',
        '   get_key_account: do limits or credit refuse calls? list_refused_calls_and_sessions has the',
        '   reasons of those that were refused.',
        '5. Webhooks: list_webhook_deliveries_of_all_sessions with state dropped, for its addresses.',
        '6. Offer to go further, since these reach other systems: send_test_event_to_webhook,',
        '   send_test_request_of_tool, read_tool_server_tools. Ask before each.',
        'Report each as fine, as failed with the remedy, or as not checked. Only a call shows that a number',
        'can be reached, and only the operator can check the machine (parley doctor): say so.',
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
