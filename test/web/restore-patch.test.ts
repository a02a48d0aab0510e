/** The PATCH that restores a version, and the one that saves a draft. */
import { describe, expect, it } from 'vitest';
import { changedSections, restorePatch } from '../../web/console/src/agents/draft.ts';
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

it('a version without the section for automated lines removes it', () => {
  const lines = {
    enabled: true,
    introduction: '',
    hold_max_seconds: 900,
    menu_max_repeats: 3,
    voicemail_recording_url: '',
  };
  expect(restorePatch(snapshot())).toMatchObject({ automated_lines: null });
  expect(restorePatch({ ...snapshot(), automated_lines: lines })).toMatchObject({ automated_lines: lines });
});

describe('the PATCH that saves a draft', () => {
  it('asks for the key of a server that is new, and keeps that of a known one', () => {
    const typed = { ...server, has_secret: false, api_key: 'secret' };
    const { has_secret: _, ...sent } = typed;
    const edited = snapshot({ asr: typed });
    expect(changedSections(snapshot(), edited)).toEqual({ custom_speech: { asr: sent, tts: null } });
    const { has_secret: _has, ...moved } = { ...server, url: 'wss://other.example.com/stt' };
    expect(changedSections(snapshot({ asr: server }), snapshot({ asr: { ...server, ...moved } }))).toEqual({
      custom_speech: { asr: moved, tts: null },
    });
  });

  it('removes a server that was switched off, and changes nothing if none was there', () => {
    const off = { ...snapshot(), custom_speech: { asr: undefined } } as unknown as AgentConfig;
    expect(changedSections(snapshot({ asr: server }), off)).toEqual({
      custom_speech: { asr: null, tts: null },
    });
    expect(changedSections(snapshot(), off)).toBeNull();
  });
});
