import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { speakWithFlite } from '#caller/scene.ts';
import { CommandError, EXIT } from '#cli/api.ts';
import { junitXml } from '#cli/junit.ts';
import { judgeVoiceCall, type VoiceCall } from '#cli/voice-checks.ts';
import { readVoiceTests } from '#cli/voice-files.ts';
import { printVoiceResults } from '#cli/voice-report.ts';
import { runVoiceTests } from '#cli/voice-run.ts';
import { summarise, type VoiceRun } from '#cli/voice-summary.ts';
import type { Timeline } from '#protocol/audible-timeline.ts';
import { type VoiceExpectations, voiceTest } from '#protocol/voice-test.ts';
import { blocksOf } from '#test/docs/page-blocks.ts';

const BOOKED = { name: 'booked', condition: 'The caller has a table' };
const STEPS = [{ do: 'say', text: 'Hello.' }];
const line = (means: Timeline['lines'][number]['means'], text: string, firstMs: number, lastMs: number) => ({
  ...{ means, text, firstMs, lastMs },
});
const CALL: VoiceCall = {
  timeline: {
    agent: [
      { firstMs: 0, lastMs: 900 },
      { firstMs: 2_600, lastMs: 4_000 },
    ],
    lines: [line('turn', 'When are you open?', 1_000, 2_000)],
  },
  endedBy: 'caller',
  replies: ['Hello.', 'We are open from noon.'],
  tools: ['find_table'],
  criteria: new Map([['booked', 'failure']]),
  verdicts: null,
  goals: null,
};
const judged = (expected: VoiceExpectations, call: Partial<VoiceCall> = {}) =>
  judgeVoiceCall({ ...CALL, ...call }, expected).checks.map(({ name, passed }) => [name, passed]);

describe('the files of voice tests', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-voice-files-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, content: unknown): string => {
    const path = join(folder, name);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  const test = (over: Record<string, unknown> = {}) => ({
    ...{ parley_voice_test: 1, name: 'Greets', steps: STEPS, expect: {} },
    ...over,
  });

  it('can be written as the page about them shows', () => {
    const page = readFileSync('docs/voice-tests.md', 'utf8');
    const examples = blocksOf(page).filter(({ language }) => language === 'json');
    expect(examples).not.toEqual([]);
    for (const { code } of examples) expect(readVoiceTests([file('example.json', code)])).toHaveLength(1);
  });

  it('are read from folders in the order of their names, with defaults', () => {
    file('b.json', test({ name: 'second' }));
    file('a.json', test({ name: 'first' }));
    file('notes.txt', 'not a test');
    mkdirSync(join(folder, 'deeper'));
    const read = readVoiceTests([folder]);
    expect(read.map(({ test: { name } }) => name)).toEqual(['first', 'second']);
    expect(read[0]?.test).toMatchObject({ repeat: 1, caller: { voice: 'slt', speed: 1, seed: 1 } });
  });

  it.each([
    ['no JSON', '{', /is not JSON/],
    ['a scene', { name: 'scene', steps: STEPS }, /is no test by voice/],
    ['an unknown field', test({ volume: 3 }), /volume/],
    ['an unknown step', test({ steps: [{ do: 'sing' }] }), /steps/],
    ['a voice of another engine', test({ caller: { voice: 'alloy' } }), /voice/],
    ['a pause of a day', test({ steps: [{ do: 'pause', ms: 86_400_000 }] }), /ms/],
    ['a pattern that RE2 refuses', test({ expect: { replies: [{ matches: '(?=a)' }] } }), /look-around/],
    ['a codec that telephones lack', test({ caller: { codec: 'mp3' } }), /codec/],
    ['a conversation without a goal', test({ steps: [{ do: 'converse' }] }), /goal/],
    [
      'an endless conversation',
      test({ steps: [{ do: 'converse', goal: 'x', max_lines: 1e6 }] }),
      /max_lines/,
    ],
    ['two conditions of one name', test({ expect: { judged: [BOOKED, BOOKED] } }), /unique/],
    ['a thousand repeats', test({ repeat: 1_000 }), /repeat/],
  ])('%s is refused with exit code 2, and the file is named', (_, content, message) => {
    const path = file('bad.json', content);
    const read = () => readVoiceTests([path]);
    expect(read).toThrow(message);
    expect(read).toThrow(path);
    expect(read).toThrow(expect.objectContaining({ exitCode: EXIT.refused }));
  });

  it('are named without what could move the cursor of a terminal', () => {
    for (const content of ['\u001b[2J', test({ 'a\u001b]52;c;cm0=\u0007': 1 })])
      expect(() => readVoiceTests([file('hostile.json', content)])).toThrow(/^[^\p{Cc}]*(\n[^\p{Cc}]*)*$/u);
  });

  it('must exist, and a folder must contain one', () => {
    expect(() => readVoiceTests([folder])).toThrow(CommandError);
    expect(() => readVoiceTests([join(folder, 'none.json')])).toThrow(/cannot be read/);
  });
});

describe('a call of a voice test', () => {
  it('is judged by what is expected, and by nothing else', () => {
    expect(judged({})).toEqual([]);
    expect(
      judged({
        replies: [{ contains: 'OPEN from' }, { matches: 'noon\\.$' }, { contains: 'closed' }],
        tools: [
          { name: 'find_table', called: true },
          { name: 'book_table', called: true },
          { name: 'cancel', called: false },
        ],
        reply_ms: { p95: 600, max: 599 },
        cut_offs: 0,
        unanswered: 0,
        missed_interruptions: 0,
        talk_over_ms: 0,
        ended_by: 'agent',
        criteria: { booked: 'success' },
      }),
    ).toEqual([
      ['reply', true],
      ['reply', true],
      ['reply', false],
      ['tool find_table', true],
      ['tool book_table', false],
      ['tool cancel', true],
      ['reply_ms p95', true],
      ['reply_ms max', false],
      ['cut_offs', true],
      ['missed_interruptions', true],
      ['unanswered', true],
      ['talk_over_ms', true],
      ['ended_by', false],
      ['criterion booked', false],
    ]);
  });

  it('has a cut-off where the agent begins before the caller goes on', () => {
    const lines = [line('part', 'I would like', 1_000, 2_000), line('turn', 'a table', 3_000, 3_500)];
    const agent = [{ firstMs: 2_600, lastMs: 3_100 }];
    expect(judged({ cut_offs: 0 }, { timeline: { agent, lines } })).toEqual([['cut_offs', false]]);
  });

  it('has missed an interruption that finds the agent silent: the test has not tested it', () => {
    const lines = [line('interruption', 'Stop!', 1_000, 1_400)];
    const timeline = { agent: CALL.timeline.agent, lines };
    expect(judged({ missed_interruptions: 0 }, { timeline })).toEqual([['missed_interruptions', false]]);
  });

  it('without a reply is too late for every limit', () => {
    const timeline = { agent: [], lines: CALL.timeline.lines };
    expect(judged({ reply_ms: { p95: 5_000 } }, { timeline })).toEqual([['reply_ms p95', false]]);
  });

  it('meets its own conditions if a model says so of each', () => {
    const verdict = (result: 'success' | 'unknown') => ({ name: 'booked', result, reason: 'It is shown.' });
    const expected = { judged: [BOOKED] };
    expect(judged(expected, { verdicts: [verdict('success')] })).toEqual([['judged booked', true]]);
    for (const verdicts of [null, [], [verdict('unknown')]])
      expect(judged(expected, { verdicts })).toEqual([['judged booked', false]]);
  });

  it('without an analysis meets no criterion', () => {
    expect(judged({ criteria: { booked: 'success' } }, { criteria: null })).toEqual([
      ['criterion booked', false],
    ]);
  });
});

describe('repeated runs', () => {
  const run = (number: number, passed: boolean): VoiceRun => ({
    ...{ run: number, session_id: 's', passed, error: null, checks: [] },
    turns: judgeVoiceCall(CALL, {}).turns,
    ...{ ended_by: 'caller', criteria: null, judged: null, goals: null, seconds: 4, caller_late_ms: 3 },
  });

  it('give a pass rate with the interval of Wilson, and the times of all replies', () => {
    const runs = Array.from({ length: 10 }, (_, index) => run(index + 1, index > 0));
    const { pass_rate, reply_ms, cut_off_rate } = summarise(runs);
    expect(pass_rate).toEqual({ value: 0.9, low: 0.5958, high: 0.9821 });
    expect(reply_ms).toEqual({ value: 600, low: 600, high: 600, p50: 600, p95: 600 });
    expect(cut_off_rate).toMatchObject({ value: 0, low: 0 });
  });

  it('have the share of verdicts that are met, of all and of each condition', () => {
    const runs = Array.from({ length: 4 }, (_, index): VoiceRun => {
      const result = index === 0 ? 'failure' : 'success';
      return { ...run(index + 1, index > 0), judged: [{ name: 'booked', result, reason: '' }] };
    });
    const { judge_rate, judged_rates } = summarise(runs);
    expect(judge_rate).toMatchObject({ value: 0.75, low: expect.any(Number), high: expect.any(Number) });
    expect(judged_rates).toEqual({ booked: { value: 0.75, low: 0.3006, high: 0.9544 } });
  });

  it('without a call have no times', () => {
    const { reply_ms } = summarise([{ ...run(1, false), turns: null, error: 'refused' }]);
    expect(reply_ms).toMatchObject({ p50: null, p95: null, low: null });
  });
});

describe('the runs of voice tests', () => {
  const test = voiceTest.parse({
    ...{ parley_voice_test: 1, name: 'a', expect: {}, repeat: 20 },
    steps: [{ do: 'pause', ms: 1 }],
  });
  const play = (post: () => Promise<unknown>, signal: AbortSignal) =>
    runVoiceTests(
      {
        api: { post, get: post, url: 'http://127.0.0.1' },
        ...{ agentId: 'a', version: 'draft', from: '127.0.0.1', sip: { host: '127.0.0.1', port: 9 } },
      },
      [{ file: 'a.json', test, speaker: speakWithFlite }],
      { repeat: null, parallel: 2, signal, onRun: () => undefined },
    );

  it('end with the first refusal that no other run could avoid', async () => {
    let asked = 0;
    const post = async () => {
      asked += 1;
      throw asked === 1 ? new CommandError('the key is not valid') : new Error('not placed');
    };
    await expect(play(post, new AbortController().signal)).rejects.toThrow('the key is not valid');
    await new Promise((done) => setImmediate(done));
    expect(asked).toBe(2);
  });

  it('that are errors have no figures, and their words cannot move the cursor of a terminal', async () => {
    const [result] = await play(() => Promise.reject(new Error('\u001b[2J')), new AbortController().signal);
    const lines: string[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
    if (result) printVoiceResults([result]);
    log.mockRestore();
    expect(lines).toContain('✗ a, run 20:  [2J');
    expect(lines[1]).toMatch(/0 of 20 \(.*\) +– +– +– +– +– +–$/);
  });
});

describe('JUnit XML', () => {
  const one = { name: 'run 1', seconds: 1.5, failure: null, error: null, output: '' };

  it('counts failures and errors of every suite and of all', () => {
    const xml = junitXml([
      { name: 'a', cases: [one, { ...one, failure: 'cut off' }] },
      { name: 'b', cases: [{ ...one, error: 'no worker' }] },
    ]);
    expect(xml).toContain('<testsuites tests="3" failures="1" errors="1" time="4.500">');
    expect(xml).toContain('<testsuite name="a" tests="2" failures="1" errors="0" time="3.000">');
    expect(xml).toContain('<error message="no worker"/>');
  });

  it('escapes everything that a caller or an agent can say', () => {
    const hostile = 'a "b" <c> & ]]>\nnext\u0000\u001b[31m\ud800';
    const xml = junitXml([{ name: hostile, cases: [{ ...one, failure: hostile, output: hostile }] }]);
    const safe = 'a &quot;b&quot; &lt;c&gt; &amp; ]]&gt;&#10;next\ufffd\ufffd[31m\ufffd';
    expect(xml).toContain(`<failure message="${safe}"/>`);
    expect(xml).toContain(`<system-out>${safe}</system-out>`);
  });
});
