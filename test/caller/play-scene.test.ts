import { describe, expect, it } from 'vitest';
import { type CallerStream, playScene } from '#caller/play-scene.ts';
import { prepareScene, type SceneFile } from '#caller/scene.ts';

const PACKET_MS = 20;

/** A line on which the agent is audible for a second from each of these times; its clock runs in waits. */
class ScriptedLine implements CallerStream<number> {
  nowMs = 0;
  readonly #agentFromMs: readonly number[];

  constructor(...agentFromMs: number[]) {
    this.#agentFromMs = agentFromMs;
  }

  get lastVoicedMs(): number | null {
    const begun = this.#agentFromMs.filter((fromMs) => fromMs <= this.nowMs);
    return begun.length === 0 ? null : Math.min(this.nowMs, (begun.at(-1) ?? 0) + 1_000);
  }

  agentSpokeForMs(): number {
    return 0;
  }

  agentQuietForMs(): number {
    return this.nowMs - (this.lastVoicedMs ?? this.nowMs);
  }

  async until(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    const endMs = this.nowMs + timeoutMs;
    while (!condition()) {
      if (this.nowMs >= endMs) return false;
      this.nowMs += PACKET_MS;
    }
    return true;
  }

  async say(samples: Int16Array): Promise<number> {
    this.nowMs += samples.length / 8;
    return this.nowMs;
  }

  async press(): Promise<void> {}
}

async function said(line: ScriptedLine, steps: SceneFile['steps']): Promise<(readonly [string, number])[]> {
  const lines: (readonly [string, number])[] = [];
  const scene = prepareScene({ name: 'scene', steps });
  await playScene(scene, line, {
    onLine: ({ text }) => lines.push([text, line.nowMs]),
    onSaid: () => undefined,
  });
  return lines;
}

const impatient = { after_ms: 2_000, text: 'Hello?', times: 3 };

describe('an impatient caller', () => {
  it('says it again whenever the agent has not begun for so long, and then waits', async () => {
    const line = new ScriptedLine(6_000);
    const lines = await said(line, [{ do: 'listen', quiet_ms: 500, impatient }]);
    expect(lines.map(([text]) => text)).toEqual(['Hello?', 'Hello?']);
    expect(lines[0]?.[1]).toBe(2_000);
    expect(line.nowMs).toBeGreaterThanOrEqual(7_500);
  });

  it('says nothing to an agent that begins in time, and no more often than it may', async () => {
    expect(await said(new ScriptedLine(1_000), [{ do: 'listen', impatient }])).toEqual([]);
    expect(await said(new ScriptedLine(), [{ do: 'listen', timeout_ms: 100, impatient }])).toHaveLength(3);
  });
});

describe('the speed of a caller', () => {
  it('shortens its lines', () => {
    const samplesAt = (speed: number) => {
      const [action] = prepareScene({
        name: 's',
        speed,
        steps: [{ do: 'say', text: 'Good morning.' }],
      }).actions;
      return action?.do === 'say' ? action.line.samples.length : 0;
    };
    expect(samplesAt(2) / samplesAt(1)).toBeCloseTo(0.5, 1);
  });
});
