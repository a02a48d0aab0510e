/** The PATCH that restores a version. */
import { describe, expect, it } from 'vitest';
import { restorePatch } from '../../web/console/src/agents/draft.ts';
import type { AgentConfig } from '../../web/console/src/api/types.ts';

const server = {
  protocol: 'jambonz',
  url: 'wss://own.example.com/stt',
  model: '',
  language: '',
  fallback: true,
  sample_rate_hz: 8_000,
  interim_results: true,
  has_secret: true,
} as const;

/** A snapshot with this section. */
function snapshot(custom_speech?: AgentConfig['custom_speech']): AgentConfig {
  const sections = {
    agent_id: 'a',
    llm: { model: 'm', custom: null },
    ...(custom_speech && { custom_speech }),
  };
  return sections as unknown as AgentConfig;
}

describe('the PATCH that restores a version', () => {
  it('removes custom speech, or the part of it, that the version does not have', () => {
    expect(restorePatch(snapshot())).toMatchObject({ custom_speech: null });
    expect(restorePatch(snapshot({ asr: server }))).toMatchObject({
      custom_speech: { asr: server, tts: null },
    });
  });

  it('removes tool servers that the version does not have', () => {
    const servers = { tool_server_ids: ['s'] };
    expect(restorePatch(snapshot())).toMatchObject({ tool_servers: null });
    expect(restorePatch({ ...snapshot(), tool_servers: servers })).toMatchObject({ tool_servers: servers });
  });

  it('removes hints of answers that the version does not have', () => {
    const hints = { enabled: true };
    expect(restorePatch(snapshot())).toMatchObject({ answer_hints: null });
    expect(restorePatch({ ...snapshot(), answer_hints: hints })).toMatchObject({ answer_hints: hints });
  });
});
