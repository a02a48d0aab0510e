/**
 * The language model of the pages: it plays the agent, the caller and the judge of agent tests by rules, so a
 * test passes only if what the page sets up reaches the model. It also suggests an agent.
 */
import { type ChatScript, callTool, say } from '../fakes/openai-server.ts';

interface ChatRequest {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly [field: string]: unknown;
}

/** Where the value of an argument is in the caller's words. */
const ARGUMENTS: Readonly<Record<string, RegExp>> = {
  day: /\b(Monday|Tuesday|Wednesday|Thursday|Friday)\b/,
  time: /\bat (\w+)/,
  name: /my name is (\w+)/,
};

/** The model's answer to one request. */
export function answerPage({ messages, tools }: ChatRequest): ChatScript {
  const texts = messages.map(({ content }) => String(content));
  const instructions = texts.filter((_, index) => messages[index]?.role === 'system').join('\n');
  const last = texts.at(-1) ?? '';
  if (instructions.includes('You judge a test')) return say(JSON.stringify(judge(instructions, last)));
  if (instructions.includes('You play a person')) return say(caller(instructions, messages.length));
  if (instructions.includes('You design voice agents'))
    return say(JSON.stringify({ name: 'Agent', system_prompt: last, first_message: 'Hello!', tests: [] }));
  if (messages.at(-1)?.role === 'tool') return say(`The answer is: ${last}`);
  const tool = offered(tools).find(({ name }) => name.split('_').every((word) => includes(last, word)));
  if (!tool) return say(closestSentence(instructions, last));
  return callTool(tool.name, Object.fromEntries(tool.names.map((name) => [name, argument(name, last)])));
}

/** Success if the conversation contains every text that the expectation or condition has in quotes. */
function judge(instructions: string, shown: string) {
  const [conversation = '', expectation = ''] = shown.split('<expectation>');
  const holds = (text: string) =>
    [...text.matchAll(/“([^”]+)”/g)].every(([, words = '']) => includes(conversation, words));
  const result = (text: string) => (holds(text) ? 'success' : 'failure');
  const conditions = [...instructions.matchAll(/^- "(.+?)": (.*)$/gm)];
  return {
    result: result(expectation),
    reasoning: expectation,
    conditions: conditions.map(([, name, description = '']) => ({ name, result: result(description) })),
    summary: '',
  };
}

/** Says the sentences that the scenario has in quotes, one a turn, and hangs up. */
function caller(instructions: string, messages: number): string {
  const lines = [...instructions.matchAll(/“([^”]+)”/g)].map(([, line]) => line);
  return lines[Math.floor((messages - 2) / 2)] ?? 'Thank you. [HANG UP]';
}

function argument(name: string, words: string): string {
  return ARGUMENTS[name]?.exec(words)?.[1] ?? '';
}

/** The sentence of the prompt that has most words in common with the question. */
function closestSentence(prompt: string, question: string): string {
  const words = question.split(/\W+/).filter((word) => word.length > 3);
  const common = (sentence: string) => words.filter((word) => includes(sentence, word)).length;
  return prompt
    .split(/(?<=[.!?])\s+/)
    .reduce((best, sentence) => (common(sentence) > common(best) ? sentence : best), 'I do not know.');
}

function includes(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

interface OfferedTool {
  readonly name: string;
  readonly names: readonly string[];
}

function offered(tools: unknown): OfferedTool[] {
  const list = (tools ?? []) as { function: { name: string; parameters: { properties?: object } } }[];
  return list.map(({ function: { name, parameters } }) => ({
    name,
    names: Object.keys(parameters.properties ?? {}),
  }));
}
