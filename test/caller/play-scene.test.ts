import { describe, expect, it } from 'vitest';
import { playScene } from '#caller/play-scene.ts';
import { prepareScene, type SceneFile } from '#caller/scene.ts';
import { ScriptedLine } from './scripted-line.ts';

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
