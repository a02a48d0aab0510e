import { describe, expect, it } from 'vitest';
import { agentConfig, defaultAgentConfig } from '#config/agent-config.ts';
import { agentConfigPatch, patchAgentConfig } from '#config/agent-config-patch.ts';
import { isTimezone } from '#config/timezones.ts';

const defaults = defaultAgentConfig({ llmModel: 'local/demo', asrModel: 'local:auto', voiceId: 'default' });

describe('patching a configuration', () => {
  it('an empty patch changes nothing', () => {
    expect(patchAgentConfig(defaults, agentConfigPatch.parse({}))).toEqual(defaults);
  });

  it('a complete configuration is a valid patch of itself, so snapshots can be restored', () => {
    const config = agentConfig.parse({
      ...defaults,
      webhooks: {
        conversation_init: { url: 'https://a.example.com', has_secret: true },
        post_call: [{ url: 'https://b.example.com', has_secret: true }],
      },
      llm: {
        model: 'local/demo',
        custom: { base_url: 'https://c.example.com/v1', model: 'm', has_secret: true },
      },
      conversation: { ...defaults.conversation, transfer_destinations: [{ phone_number: '+14155550123' }] },
    });
    expect(patchAgentConfig(defaults, agentConfigPatch.parse(structuredClone(config)))).toMatchObject({
      ...config,
      // Keeping secrets is the responsibility of their store.
      webhooks: {
        conversation_init: { url: 'https://a.example.com' },
        post_call: [{ url: 'https://b.example.com' }],
      },
      llm: { custom: { base_url: 'https://c.example.com/v1', model: 'm' } },
    });
  });

  it('an absent field never falls back to its default', () => {
    const changed = patchAgentConfig(
      defaults,
      agentConfigPatch.parse({ conversation: { eagerness: 'eager', keypad_menu: { max_attempts: 4 } } }),
    );
    const again = patchAgentConfig(
      changed,
      agentConfigPatch.parse({ conversation: { interruptible: false, keypad_menu: { prompt: 'x' } } }),
    );
    expect(again.conversation).toMatchObject({
      eagerness: 'eager',
      interruptible: false,
      keypad_menu: { max_attempts: 4, prompt: 'x' },
    });
  });

  it('list elements are replaced completely: their omitted fields get the defaults', () => {
    const { conversation } = patchAgentConfig(
      defaults,
      agentConfigPatch.parse({ conversation: { transfer_destinations: [{ phone_number: '+14155550123' }] } }),
    );
    expect(conversation.transfer_destinations[0]).toMatchObject({
      type: 'phone',
      mode: 'cold',
      warm_connect: 'confirm',
      on_failure: { action: 'return_to_agent', message: '' },
    });
  });
});

describe('time zones', () => {
  it.each(['Europe/Berlin', 'America/Argentina/Buenos_Aires', 'UTC', 'Etc/GMT+5'])('include %s', (name) => {
    expect(isTimezone(name)).toBe(true);
  });
  it.each(['', 'Mars/Olympus', '+01:00', 'Europe/Berlin ', 'Europe//Berlin', '../etc'])(
    'do not include %j',
    (name) => {
      expect(isTimezone(name)).toBe(false);
    },
  );
});
