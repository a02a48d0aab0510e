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
});
