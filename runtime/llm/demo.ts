/**
 * `local/demo`: a rule-based model for a first call without any vendor. It introduces itself, answers what
 * `config/demo-phrases.ts` lists, and books an imaginary table. Stateless: everything comes from the
 * conversation in the request.
 */
import { randomUUID } from 'node:crypto';
import { DEMO_PHRASES, type DemoIntent } from '#config/demo-phrases.ts';
import { DEMO_MODEL_ID } from '#config/language-models.ts';
import { isHangUpCall } from '#protocol/hang-up-call.ts';
import type { ChatDelta, ChatMessage, ChatRequest, LanguageModel } from './llm.ts';

const GREETING =
  'Hello! I am the Parley demo: a few rules, not a large language model. Ask for opening hours, book a ' +
  'table, or say goodbye.';
const ABILITIES =
  'I am a rule-based demo. I can tell you our opening hours, book a table, repeat what I said, and read ' +
  'back what you key in.';
const FALLBACK =
  'I am only a rule-based demo and did not understand that. Try asking for our opening hours, or say: ' +
  'book a table.';
const GOODBYE = 'Thank you for calling. Goodbye!';

/** Answers that depend on the intent alone. */
const ANSWERS: Partial<Record<DemoIntent, string>> = {
  opening_hours: 'We are open every day from noon until ten in the evening. Would you like to book a table?',
  human: 'I am sorry, nobody is behind this demo. An agent of your own can transfer calls.',
  abilities: ABILITIES,
  name: 'I am the Parley demo, a rule-based model.',
  greeting: 'Hello! How can I help you?',
  thanks: 'You are welcome. Is there anything else?',
  no: 'All right. Is there anything else?',
  goodbye: GOODBYE,
};

const EVENT = /^\[(.*)\]$/s;
const CLOCK_TIME = /\b\d{1,2}:\d{2}(?:\s[AP]M)?/;
const NUMBER_WORDS = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
];
const DAYS = /\b(today|tonight|tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b/;
const HOUR = /\bat (\w+)/;
const PARTY = /\b(\w+) (?:people|persons|guests)\b/;

/** Creates the demo model. */
export function createDemoModel(): LanguageModel {
  return { id: DEMO_MODEL_ID, isCustom: false, stream: generate };
}

async function* generate(request: ChatRequest): AsyncGenerator<ChatDelta> {
  request.signal.throwIfAborted();
  const answer = answerTo(request.messages);
  const words = answer.match(/\S+\s*/g) ?? [];
  for (const text of words) {
    yield { type: 'text', text };
    request.signal.throwIfAborted();
  }
  const hangUp = answer === GOODBYE ? request.tools.find((tool) => isHangUpCall(tool.name)) : undefined;
  if (hangUp)
    yield { type: 'tool_call', call: { callId: `call_${randomUUID()}`, toolName: hangUp.name, input: '{}' } };
  yield {
    type: 'finish',
    usage: { inputTokens: null, outputTokens: words.length, cachedInputTokens: null },
    finishReason: hangUp ? 'tool_call' : 'stop',
  };
}

/** The demo's next reply in this conversation. */
export function answerTo(messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  // No words after a tool result: the only tool is the hang-up.
  if (last?.role === 'tool') return '';
  const turns = messages.flatMap((message) => (message.role === 'user' ? [message.content] : []));
  const event = EVENT.exec(turns.at(-1) ?? '')?.[1];
  if (event !== undefined) return eventAnswer(event);
  const said = turns.filter((turn) => !EVENT.test(turn)).map(normalise);
  const latest = said.at(-1);
  return latest === undefined ? GREETING : speechAnswer(messages, said, latest);
}

function speechAnswer(messages: readonly ChatMessage[], said: readonly string[], latest: string): string {
  const keyed = /^keypad entry (.+)$/.exec(latest)?.[1];
  if (keyed !== undefined) return `You keyed in ${[...keyed].join(', ')}. Thank you.`;
  const intent = intentOf(latest);
  if (intent === 'repeat') return lastAnswer(messages) ?? GREETING;
  if (intent === 'time') return timeAnswer(messages);
  return (intent && ANSWERS[intent]) ?? bookingAnswer(said, intent) ?? FALLBACK;
}

/** Call events are user messages in square brackets. */
function eventAnswer(event: string): string {
  if (event.startsWith('The background tool')) return 'The tool you asked for has answered.';
  if (event.startsWith('A colleague')) return 'This is the Parley demo again. Is there anything else?';
  return event.startsWith('The caller has said nothing') ? 'Are you still there?' : GREETING;
}

/** Lower-case words, so that recognised and typed text look alike. */
function normalise(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9*#' ]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * The intent with the longest matching phrase, so that a short word such as "no" does not win over a longer
 * one. Of equally long phrases the first in `DEMO_PHRASES` wins.
 */
function intentOf(text: string): DemoIntent | null {
  let found: { intent: DemoIntent; length: number } | null = null;
  for (const [intent, phrases] of Object.entries(DEMO_PHRASES) as [DemoIntent, readonly string[]][]) {
    for (const phrase of phrases) {
      if (` ${text} `.includes(` ${phrase} `) && phrase.length > (found?.length ?? 0))
        found = { intent, length: phrase.length };
    }
  }
  return found?.intent ?? looseIntent(text);
}

/** Falls back to keywords when no phrase matches. */
function looseIntent(text: string): DemoIntent | null {
  if (/\b(hours|open|close)\b/.test(text)) return 'opening_hours';
  if (/\b(book|reserve|reservation|table)\b/.test(text)) return 'booking';
  if (/\b(bye|goodbye|hang up)\b/.test(text)) return 'goodbye';
  if (/\b(human|person|agent|operator)\b/.test(text)) return 'human';
  return null;
}

interface Booking {
  readonly party: string | null;
  readonly day: string | null;
  readonly hour: string | null;
}

/**
 * The next question of a booking, or its confirmation; null when no booking is in progress or the caller said
 * nothing relevant.
 */
function bookingAnswer(said: readonly string[], intent: DemoIntent | null): string | null {
  const start = said.findLastIndex((text) => intentOf(text) === 'booking' || /\btable\b/.test(text));
  if (start === -1) return intent === 'yes' ? 'Would you like to book a table?' : null;
  const latest = said.at(-1) ?? '';
  const isAbout =
    ['booking', 'party_size', 'day', 'hour', 'digit', 'yes'].includes(intent ?? '') ||
    DAYS.test(latest) ||
    HOUR.test(latest);
  if (!isAbout) return null;
  const booking = readBooking(said.slice(start));
  if (booking.party === null) return 'Gladly. For how many people?';
  if (booking.day === null) return `A table for ${booking.party}. On which day?`;
  if (booking.hour === null) return 'And at what time?';
  return (
    `Your table for ${booking.party} is noted: ${booking.day} at ${booking.hour}. This is a demo, so ` +
    'nothing was really booked. Anything else?'
  );
}

/** Fills the slots in the order of the questions; a bare number answers the open question. */
function readBooking(said: readonly string[]): Booking {
  let booking: Booking = { party: null, day: null, hour: null };
  for (const text of said) {
    const bare = numberIn(text);
    booking = {
      party: PARTY.exec(text)?.[1] ?? booking.party ?? (HOUR.test(text) ? null : bare),
      day: DAYS.exec(text)?.[1] ?? booking.day,
      hour:
        HOUR.exec(text)?.[1] ??
        booking.hour ??
        (booking.party !== null && booking.day !== null ? bare : null),
    };
  }
  return booking;
}

function numberIn(text: string): string | null {
  return text.split(' ').find((word) => NUMBER_WORDS.includes(word) || /^\d{1,2}$/.test(word)) ?? null;
}

function lastAnswer(messages: readonly ChatMessage[]): string | null {
  const last = messages.findLast((message) => message.role === 'assistant' && message.content !== '');
  // Strips the mark that shows where the caller interrupted; it is not spoken.
  return last?.content.replace(/(?<!\s)\s*\[…\]$/, '') ?? null;
}

/** Reads the time from the prompt, because the demo has no clock. */
function timeAnswer(messages: readonly ChatMessage[]): string {
  const context = messages.findLast(
    (message) => message.role === 'system' && CLOCK_TIME.test(message.content),
  );
  const time = context && CLOCK_TIME.exec(context.content)?.[0];
  return time ? `It is ${time}.` : 'I am sorry, I have no clock in this conversation.';
}
