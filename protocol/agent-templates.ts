/**
 * Templates of new agents: complete configurations with agent tests, for the console and the command line.
 * Both create them with ordinary requests, so that a template is only the start of an agent. The first
 * messages are fixed and the tests only check tool calls, so that they also work with `local/demo`, which
 * neither reads a prompt nor judges a conversation.
 */
import type { z } from 'zod';
import type { AgentConfigPatch } from '#config/agent-config-patch.ts';
import type { testDefinition } from './agent-test.ts';
import { HANG_UP_CALL } from './hang-up-call.ts';

/** A test as in the body of `POST /v1/agent/tests`, without `agent_ids`. */
type TemplateTest = z.input<typeof testDefinition> & { readonly name: string };

/** One template. */
export interface AgentTemplate {
  /** Its name on the command line. */
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly config: AgentConfigPatch;
  readonly tests: readonly TemplateTest[];
}

const SPOKEN =
  'You speak on the phone: answer in one or two short sentences, without lists, and ask one question at a ' +
  'time. Never make anything up; say so when you do not know.';

/** Settings that suit every template: attempts to manipulate the model are refused, and it can hang up. */
const COMMON = {
  guardrails: { manipulation: true },
  tools: { system_tools: { hang_up_call: true } },
} satisfies AgentConfigPatch;

/** Asks a silent caller whether they are still there, then says goodbye and hangs up. */
const SILENCE = { reengage_enabled: true, hangup_after_seconds: 30, hangup_farewell_enabled: true };

const HANG_UP = { id: HANG_UP_CALL, type: 'integration' } as const;

/** Passes if the agent answers `said` and then hangs up. */
function hangsUp(name: string, agent: string, said: string): TemplateTest {
  return {
    name,
    test_type: 'tool',
    conversation: [
      { role: 'agent', text: agent },
      { role: 'user', text: said },
    ],
    referenced_tool: HANG_UP,
  };
}

/** Passes if the agent answers `said` and stays on the line. */
function staysOn(name: string, agent: string, said: string): TemplateTest {
  return { ...hangsUp(name, agent, said), verify_absence: true };
}

/** All templates, in the order in which they are offered. */
export const AGENT_TEMPLATES: readonly AgentTemplate[] = [
  {
    id: 'front-desk',
    title: 'Front desk',
    description: 'Answers questions about a business and takes messages.',
    config: {
      ...COMMON,
      prompt: {
        system_prompt: `You answer the phone of {{business}}.

${SPOKEN}

What you know:
- {{business}} is at {{address}}.
- It is open {{opening_hours}}.

If you cannot answer a question, or the caller wants to talk to a person, take a message: ask for the name, a
number to call back and what it is about, and repeat the number. Today is {{system.today}}. When the caller
says goodbye, say goodbye and hang up.`,
        first_message_mode: 'fixed',
        first_message: 'Hello, this is {{business}}. How can I help you?',
      },
      conversation: SILENCE,
      variables: {
        defaults: {
          business: 'Bella Vista',
          address: '12 Main Street',
          opening_hours: 'every day from noon until ten in the evening',
        },
      },
      analysis: {
        data_fields: [
          { name: 'caller_name', type: 'text', description: 'Name of the caller' },
          {
            name: 'callback_number',
            type: 'text',
            description: 'Number to call back, if a message was left',
          },
          { name: 'message', type: 'text', description: 'The message for the team, if one was left' },
        ],
        criteria: [
          { name: 'helped', description: 'The question was answered, or a complete message was taken' },
        ],
      },
    },
    tests: [
      staysOn('Answers a question', 'Hello, this is Bella Vista. How can I help you?', 'When are you open?'),
      hangsUp(
        'Hangs up after goodbye',
        'We are open from noon until ten. Is there anything else?',
        'No, that is all. Goodbye.',
      ),
    ],
  },
  {
    id: 'booking',
    title: 'Booking',
    description: 'Takes a table booking: people, day, time and name.',
    config: {
      ...COMMON,
      prompt: {
        system_prompt: `You take table bookings for {{business}}, which is open {{opening_hours}}.

${SPOKEN}

For a booking you need the number of people, the day, the time and a name. Ask for what is missing, in this
order, and skip what the caller has already said. Decline a time outside the opening hours and offer the
nearest one. Then repeat the whole booking, and note it once the caller has agreed. Today is {{system.today}}.
When the caller says goodbye, say goodbye and hang up.`,
        first_message_mode: 'fixed',
        first_message: 'Hello, this is {{business}}. Would you like to book a table?',
      },
      conversation: SILENCE,
      variables: {
        defaults: {
          business: 'Bella Vista',
          opening_hours: 'every day from noon until ten in the evening',
        },
      },
      analysis: {
        data_fields: [
          { name: 'guests', type: 'number', description: 'Number of people' },
          { name: 'day', type: 'text', description: 'Day of the booking' },
          { name: 'time', type: 'text', description: 'Time of the booking' },
          { name: 'name', type: 'text', description: 'Name for the booking' },
        ],
        criteria: [{ name: 'booked', description: 'The caller agreed to a complete booking' }],
      },
    },
    tests: [
      staysOn(
        'Asks for what is missing',
        'Hello, this is Bella Vista. Would you like to book a table?',
        'Yes, I would like to book a table for two people.',
      ),
      hangsUp(
        'Hangs up after the booking',
        'A table for two on Friday at seven, for Ada. Is there anything else?',
        'No, that is all. Goodbye.',
      ),
    ],
  },
  {
    id: 'survey',
    title: 'Survey',
    description: 'Calls customers, asks for a score from one to five and the reason for it.',
    config: {
      ...COMMON,
      prompt: {
        system_prompt: `You call {{name}}, who has visited {{business}}, and ask how it was.

${SPOKEN}

Ask these questions, one after the other:
1. How satisfied were you, from one to five? Five is best.
2. What is the reason for this score?
3. May we call you back about it?

Accept every answer: do not argue, explain or sell. If the person has no time or does not want to take part,
do not insist. At the end, thank them, say goodbye and hang up.`,
        first_message_mode: 'fixed',
        first_message:
          'Hello {{name}}, this is an automated call from {{business}}. May I ask you three short ' +
          'questions about your visit?',
      },
      conversation: { ...SILENCE, eagerness: 'relaxed', max_duration_seconds: 300 },
      variables: { defaults: { business: 'Bella Vista', name: 'there' } },
      analysis: {
        data_fields: [
          { name: 'score', type: 'number', description: 'Score from 1 to 5' },
          { name: 'reason', type: 'text', description: 'Reason for the score' },
          { name: 'may_call_back', type: 'boolean', description: 'Whether we may call back' },
        ],
        criteria: [{ name: 'finished', description: 'All three questions were answered' }],
      },
    },
    tests: [
      staysOn(
        'Continues after the score',
        'How satisfied were you with your visit, from one to five?',
        'I would say four.',
      ),
      hangsUp(
        'Accepts a refusal',
        'Hello, this is an automated call from Bella Vista. May I ask you three short questions?',
        'I have no time for this. Goodbye.',
      ),
    ],
  },
  {
    id: 'reminder',
    title: 'Reminder',
    description: 'Calls people about an appointment, and asks whether they will come.',
    config: {
      ...COMMON,
      prompt: {
        system_prompt: `You call {{name}} for {{business}} to confirm an appointment: {{appointment}}.

${SPOKEN}

First make sure that you speak to {{name}}. Say nothing about the appointment to anybody else: if {{name}}
cannot come to the phone, say goodbye and hang up. Ask {{name}} whether they will come. If not, ask which day
would suit them better, and say that {{business}} will call back to agree on a new time: you cannot move the
appointment yourself. Then say goodbye and hang up.`,
        first_message_mode: 'fixed',
        first_message: 'Hello, this is an automated call from {{business}}. Am I speaking to {{name}}?',
      },
      conversation: {
        ...SILENCE,
        max_duration_seconds: 300,
        outbound: {
          voicemail: {
            action: 'leave_message',
            message: 'Hello, this is a message from {{business}} for {{name}}. Please call us back. Goodbye.',
          },
        },
      },
      variables: {
        defaults: { business: 'Bella Vista', name: 'Alex Reed', appointment: 'tomorrow at ten' },
      },
      analysis: {
        data_fields: [
          {
            name: 'outcome',
            type: 'enum',
            description: 'What the person said about the appointment',
            enum_options: ['confirmed', 'cancelled', 'other_day', 'unknown'],
          },
          { name: 'wanted_day', type: 'text', description: 'The day that would suit better, if any' },
        ],
        criteria: [{ name: 'reached', description: 'The person said whether they will come' }],
      },
    },
    tests: [
      staysOn(
        'Asks for another day',
        'Will you come to your appointment tomorrow at ten?',
        'I cannot come then. Can we move it?',
      ),
      hangsUp(
        'Hangs up on a wrong number',
        'Hello, this is an automated call from Bella Vista. Am I speaking to Alex Reed?',
        'No, you have the wrong number. Goodbye.',
      ),
    ],
  },
  {
    id: 'support',
    title: 'Support',
    description: 'Notes a problem with an order, and the number to call back.',
    config: {
      ...COMMON,
      prompt: {
        system_prompt: `You answer the support line of {{business}}. Callers have a problem with an order.

${SPOKEN}

Find out, one after the other: what is wrong, the order number, and a number to call back. The caller can say
the order number or key it in, followed by the hash key. Repeat each number digit by digit. Do not promise a
refund or a date: say that a colleague will call back within {{callback_time}}. When the caller says goodbye,
say goodbye and hang up.`,
        first_message_mode: 'fixed',
        first_message: 'Hello, this is the support line of {{business}}. What is the problem?',
      },
      conversation: { ...SILENCE, eagerness: 'relaxed', keypad_input: { enabled: true } },
      variables: { defaults: { business: 'Bella Vista', callback_time: 'one working day' } },
      analysis: {
        data_fields: [
          { name: 'problem', type: 'text', description: 'The problem in one sentence' },
          { name: 'order_number', type: 'text', description: 'Order number, digits only' },
          { name: 'callback_number', type: 'text', description: 'Number to call back' },
        ],
        criteria: [{ name: 'complete', description: 'Problem, order number and number to call are known' }],
      },
    },
    tests: [
      staysOn(
        'Asks about a problem',
        'Hello, this is the support line of Bella Vista. What is the problem?',
        'My order has not arrived.',
      ),
      hangsUp(
        'Hangs up after goodbye',
        'A colleague will call you back within one working day. Is there anything else?',
        'No, that is all. Goodbye.',
      ),
    ],
  },
];
