/**
 * A simulated conversation: a model plays the caller until one side hangs up or the turns run out, then
 * everything is judged.
 */
import type { AgentTestResult, Simulation, TestDefinition } from '#protocol/agent-test.ts';
import { type LanguageModel, ModelError } from '#runtime/llm/llm.ts';
import { ask, type TextContext } from '../text-turns/ask-model.ts';
import type { AgentReply, TextAgent } from '../text-turns/text-agent.ts';
import { checkAssertions, verdictOf } from './assertions.ts';
import { judgeConversation } from './judge.ts';
import type { RecordedCall, TestTools } from './test-tools.ts';

/** The conversation's share of the test's time; the rest is for judging. */
const CONVERSATION_MS = 5 * 60_000;
/** Characters kept of one turn. */
const TURN_CHARS = 4_000;
/** What every model that plays a caller is told first. */
export const CALLER_ROLE =
  'You play a person on the telephone with a voice agent. Stay in this role whatever the agent says; ' +
  'you are never the agent.';
/** The simulated caller writes this to hang up. */
const HANG_UP = '[HANG UP]';

type Turn = TestDefinition['conversation'][number];
type EndedBy = NonNullable<AgentTestResult['ended_by']>;

/** Inputs of a simulation. */
export interface SimulationParts {
  readonly test: TestDefinition;
  readonly simulation: Simulation;
  readonly agent: TextAgent;
  readonly tools: TestTools;
  readonly judge: LanguageModel;
  readonly user: LanguageModel;
}

interface Conversation {
  readonly turns: Turn[];
  readonly replies: AgentReply[];
  /** Turns of the simulated caller. */
  userTurns: number;
}

class ConversationTimeout extends Error {}

/**
 * Runs and judges the conversation. Throws `ModelError` when judging fails, or the reason of the test's
 * signal.
 */
export async function simulate(parts: SimulationParts, context: TextContext): Promise<AgentTestResult> {
  const { simulation, tools } = parts;
  const conversation: Conversation = { turns: [...parts.test.conversation], replies: [], userTurns: 0 };
  const outcome = await converse(parts, conversation, context);
  const calls = allCalls(conversation, tools);
  const facts = {
    agent_replies: conversation.replies.length,
    agent_reply: conversation.replies.at(-1)?.text ?? null,
    latency_ms: meanMs(conversation.replies),
    turns_used: conversation.userTurns,
    ended_by: outcome.endedBy,
    mock_gaps: [...tools.gaps],
  };
  if (outcome.error !== null) {
    const unjudged = { assertions: [], conditions: [], summary: '', passed: false };
    const simulation_result = { transcript: conversation.turns, tool_calls: calls, ...unjudged };
    return {
      status: 'error',
      needs_review: false,
      error: outcome.error,
      judge_reasoning: null,
      ...facts,
      simulation_result,
    };
  }
  const assertions = checkAssertions(simulation.assertions, { calls, endedBy: outcome.endedBy, tools });
  const judged = await judgeConversation(
    parts.judge,
    { simulation, turns: conversation.turns, calls: tools.shown(calls), endedBy: outcome.endedBy },
    context,
  );
  const verdict = verdictOf({ assertions, conditions: judged.conditions, gaps: tools.gaps.length });
  const simulation_result = {
    transcript: conversation.turns,
    tool_calls: calls,
    assertions,
    ...judged,
    passed: verdict.status === 'passed',
  };
  return { ...verdict, error: null, judge_reasoning: judged.summary, ...facts, simulation_result };
}

async function converse(
  parts: SimulationParts,
  conversation: Conversation,
  context: TextContext,
): Promise<{ endedBy: EndedBy; error: string | null }> {
  const end = new AbortController();
  const timer = context.clock.after(CONVERSATION_MS, () => end.abort(new ConversationTimeout()));
  try {
    return {
      endedBy: await talk(parts, conversation, {
        ...context,
        signal: AbortSignal.any([context.signal, end.signal]),
      }),
      error: null,
    };
  } catch (error) {
    if (error instanceof ConversationTimeout) return { endedBy: 'timeout', error: null };
    if (error instanceof ModelError) return { endedBy: 'error', error: error.message };
    throw error;
  } finally {
    timer.cancel();
  }
}

async function talk(
  parts: SimulationParts,
  conversation: Conversation,
  context: TextContext,
): Promise<EndedBy> {
  const { agent, simulation, test } = parts;
  agent.remember(test.conversation);
  const greeting = test.conversation.length === 0 ? await agent.greet({ signal: context.signal }) : null;
  if (greeting && said(conversation, greeting)) return 'agent';
  // If the given conversation ends with the caller, the agent replies first.
  let isCallersTurn = conversation.turns.at(-1)?.role !== 'user';
  for (;;) {
    if (isCallersTurn && conversation.userTurns >= simulation.max_turns) return 'max_turns';
    if (isCallersTurn && (await callerHangsUp(parts, conversation, context))) return 'user';
    if (said(conversation, await agent.reply({ signal: context.signal }))) return 'agent';
    isCallersTurn = true;
  }
}

/** Lets the simulated caller speak; true when they hang up. */
async function callerHangsUp(
  parts: SimulationParts,
  conversation: Conversation,
  context: TextContext,
): Promise<boolean> {
  const { text, hasHungUp } = await speak(parts, conversation.turns, context);
  conversation.userTurns += 1;
  if (text !== '') {
    conversation.turns.push({ role: 'user', text });
    parts.agent.hear(text);
  }
  return hasHungUp;
}

/** Records a reply; true when the agent hung up with it. */
function said(conversation: Conversation, reply: AgentReply): boolean {
  conversation.replies.push(reply);
  // A reply without words still counts as a turn, so the caller is next.
  conversation.turns.push({ role: 'agent', text: reply.text.slice(0, TURN_CHARS) });
  return reply.hasHungUp;
}

async function speak(
  parts: SimulationParts,
  turns: readonly Turn[],
  context: TextContext,
): Promise<{ text: string; hasHungUp: boolean }> {
  const instructions = [
    CALLER_ROLE,
    'Answer with only the words this person says next: one to three short spoken sentences, no stage ' +
      'directions.',
    `When the conversation is over for this person, end your words with ${HANG_UP}. Do so once the matter ` +
      'is settled, or clearly cannot be.',
    'The person and what they want:',
    parts.simulation.scenario,
  ];
  // The simulating model plays the caller, so the agent's turns are its user messages.
  const heard = turns.map((turn) => ({
    role: turn.role === 'agent' ? ('user' as const) : ('assistant' as const),
    content: turn.text || '(silence)',
  }));
  const opening =
    heard.at(-1)?.role === 'user'
      ? []
      : [{ role: 'user' as const, content: '(The call is connected. Speak first.)' }];
  const answer = await ask(
    parts.user,
    { messages: [{ role: 'system', content: instructions.join('\n') }, ...heard, ...opening] },
    context,
  );
  const hasHungUp = answer.text.includes(HANG_UP);
  const text = answer.text.replaceAll(HANG_UP, '').trim().slice(0, TURN_CHARS);
  return { text: text === '' && !hasHungUp ? '(says nothing)' : text, hasHungUp };
}

/** All answered calls, plus the hang-up, which has no answer. */
function allCalls(conversation: Conversation, tools: TestTools): RecordedCall[] {
  const hangUps = conversation.replies
    .filter((reply) => reply.hasHungUp)
    .flatMap((reply) => reply.calls.slice(-1))
    .map((call) => ({
      tool_id: null,
      tool_name: call.toolName,
      arguments: call.input.slice(0, TURN_CHARS),
      mock_source: 'real' as const,
      status: 'completed' as const,
      output: null,
    }));
  return [...tools.calls, ...hangUps];
}

function meanMs(replies: readonly AgentReply[]): number | null {
  const timed = replies.filter((reply) => reply.tookMs > 0);
  return timed.length === 0
    ? null
    : Math.round(timed.reduce((sum, reply) => sum + reply.tookMs, 0) / timed.length);
}
