import { describe, expect, it } from 'vitest';
import { agentConfigPatch } from '#config/agent-config-patch.ts';
import { AGENT_TEMPLATES } from '#protocol/agent-templates.ts';

describe('an agent template', () => {
  it.each(AGENT_TEMPLATES)('defines every variable of its texts: $id', ({ config }) => {
    const { prompt, conversation, variables } = agentConfigPatch.parse(config);
    const used = [...JSON.stringify({ prompt, conversation }).matchAll(/\{\{\s*([\w.]+)\s*\}\}/g)]
      .map(([, name]) => name)
      .filter((name) => !name?.startsWith('system.'));
    expect([...new Set(used)].sort()).toEqual(Object.keys(variables?.defaults ?? {}).sort());
  });

  it('for a reminder does not mention the appointment before the person is identified', () => {
    const { config } = AGENT_TEMPLATES.find(({ id }) => id === 'reminder') ?? {};
    const { prompt, conversation } = agentConfigPatch.parse(config);
    for (const text of [prompt?.first_message, conversation?.outbound?.voicemail?.message]) {
      expect(text).toContain('{{name}}');
      expect(text).not.toContain('appointment');
    }
  });
});
