import { describe, expect, it } from 'vitest';
import type { CallPlan } from '#protocol/call-plan.ts';
import { fixedTexts } from '#runtime/turn/loop/fixed-texts.ts';
import { turnConfig } from '#runtime/turn/machine/turn-config.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { growthOf, MOST_GROWTH, repeated } from '#test/hostile/growth.ts';
import { planOf, renderFor } from './settings-script.ts';

const phrases = phrasesFor('en');

/** A call of an agent with this greeting. */
function greeting(
  first_message: string,
  over: Partial<CallPlan> = {},
  defaults: CallPlan['variables'] = {},
): CallPlan {
  const plan = planOf({ prompt: { first_message_mode: 'fixed', first_message }, variables: { defaults } });
  return { ...plan, ...over, variables: { ...defaults, ...over.variables } };
}

/** The greeting of the call, and whether it is the same in every call. */
function greets(plan: CallPlan): [text: string, isFixed: boolean] {
  const said = turnConfig(plan, null, renderFor(plan)).greeting;
  const text = said.mode === 'say' ? said.text : '';
  return [text, fixedTexts(plan)(text)];
}

describe('a greeting', () => {
  it('is the same in every call if it has no placeholders', () => {
    expect(greets(greeting('Hello, this is Ann’s bakery.'))).toEqual(['Hello, this is Ann’s bakery.', true]);
  });

  it('is the same in every call with the agent’s own values, if the caller does not override them', () => {
    const shop = { shop: 'Ann’s bakery' };
    expect(greets(greeting('Hello, this is {{shop}}.', {}, shop))).toEqual([
      'Hello, this is Ann’s bakery.',
      true,
    ]);
    expect(greets(greeting('Hello, this is {{shop}}.', { variables: { shop: 'Bob’s bar' } }, shop))).toEqual([
      'Hello, this is Bob’s bar.',
      false,
    ]);
  });

  it('differs between calls if it contains the caller’s name or other data of the call', () => {
    expect(greets(greeting('Hello {{name}}. How are you?', { variables: { name: 'Ann' } }))).toEqual([
      'Hello Ann. How are you?',
      false,
    ]);
    expect(greets(greeting('It is {{system.today}}.'))).toEqual(['It is 2026-11-21.', false]);
  });

  it('differs between calls if it was provided with the call', () => {
    const text = 'Hello Ms Weber, your cake is ready.';
    // The plan contains the override in both places.
    expect(greets(greeting(text, { first_message_override: text }))).toEqual([text, false]);
  });
});

describe('the set of fixed texts', () => {
  it('includes the agent’s built-in lines in its language', () => {
    const isFixed = fixedTexts(planOf({}));
    for (const line of Object.values(phrases)) expect(isFixed(line), line).toBe(true);
    expect(isFixed(phrasesFor('de').hold)).toBe(false);
  });

  it('includes every text of the configuration that is said verbatim', () => {
    const [farewell, prompt, retry, announcement, failure, mailbox] = [
      'So long.',
      'Press 1.',
      'Again.',
      'One moment.',
      'Nobody is there.',
      'Call us.',
    ];
    const conversation = {
      keypad_menu: {
        enabled: true,
        prompt,
        retry_message: retry,
        variable: 'x',
        options: [{ key: '1', label: 'Sales', value: 'sales' }],
      },
      transfer_destinations: [
        {
          announcement_mode: 'fixed',
          announcement_message: announcement,
          on_failure: { action: 'return_to_agent', message: failure },
        },
      ],
      outbound: { amd_enabled: true, voicemail: { message: mailbox } },
    };
    const tools = {
      system_tools: { hang_up_call_farewell_mode: 'fixed', hang_up_call_farewell_message: farewell },
    };
    const outreach = {
      disclosure: 'This is a machine.',
      opt_out: { key: '9', phrases: [], confirmation: 'You are off our list.' },
    };
    const inbound = fixedTexts({ ...planOf({ conversation, tools }), outreach });
    const said = [
      farewell,
      prompt,
      `${retry} ${prompt}`,
      announcement,
      failure,
      'This is a machine.',
      'You are off our list.',
    ];
    for (const text of said) expect(inbound(text), text).toBe(true);
    expect(
      fixedTexts({ ...planOf({ conversation, tools }, 'phone_outbound'), outreach })(
        `This is a machine. ${mailbox}`,
      ),
    ).toBe(true);
  });

  it('includes several of them joined, but not joined with other words', () => {
    const plan = greeting(
      'Hello.',
      { outreach: { disclosure: 'I call for {{shop}}.', opt_out: null } },
      { shop: 'Ann’s bakery' },
    );
    const isFixed = fixedTexts(plan);
    for (const text of ['I call for Ann’s bakery. Hello.', `${phrases.back} Hello.`])
      expect(isFixed(text), text).toBe(true);
    for (const text of [
      'I call for Bob’s bar. Hello.',
      'Hello. Ann is 42.',
      'Ann is 42. Hello.',
      'Hello.Hello.',
      '',
      ' ',
      'Hello. ',
    ])
      expect(isFixed(text), text).toBe(false);
  });

  it('security 3: is checked in linear time, however many ways a text can be composed', () => {
    const isFixed = fixedTexts(greeting('a', { outreach: { disclosure: 'a a', opt_out: null } }));
    const growth = growthOf({ make: (size) => `${repeated('a ', size)}b`, run: isFixed, longest: 20_000 });
    expect(growth.ratio).toBeLessThanOrEqual(MOST_GROWTH);
  });
});
