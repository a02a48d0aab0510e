/**
 * Writes the fixtures of this folder with the code of the last release, from the history of this repository:
 * the frames that it sends, and the schemas by which it reads ours. Run it once when a release replaces the
 * last one: `node test/protocol/last-release/write-fixtures.ts`.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { unpackLastRelease } from '#test/journeys/last-release.ts';
import { recordCalls } from './record-calls.ts';
import { controlFrames, QUESTIONS, WORKER_FRAMES } from './samples.ts';

const folder = unpackLastRelease();

function load<Module>(path: string): Promise<Module> {
  return import(pathToFileURL(join(folder, path)).href) as Promise<Module>;
}

/** The frames as the last release completes and reads them, one a line. */
function write(name: string, schema: z.ZodType, frames: readonly object[]): void {
  const lines = frames.map((frame) => JSON.stringify(schema.parse(frame)));
  save(`${name}.json`, `[\n${lines.join(',\n')}\n]\n`);
}

function writeSchema(name: string, schema: z.ZodType): void {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'ref' });
  save(`${name}.schema.json`, `${JSON.stringify(json)}\n`);
}

function save(file: string, text: string): void {
  writeFileSync(join(import.meta.dirname, file), text);
}

const link = await load<Record<'workerMessage' | 'controlMessage', z.ZodType>>('config/worker-link.ts');
const admission =
  await load<Record<'admissionRequest' | 'admissionAnswer', z.ZodType>>('config/sip-admission.ts');
const { testPlan } = await load<{ testPlan(): object }>('test/runtime/test-plan.ts');
const webPlan = { ...testPlan(), channel: 'web_voice', transport: { type: 'webrtc' } };

write('worker-frames', link.workerMessage, WORKER_FRAMES);
write('control-frames', link.controlMessage, controlFrames(testPlan(), webPlan));
write('admission-requests', admission.admissionRequest, QUESTIONS);
writeSchema('worker-message', link.workerMessage);
writeSchema('control-message', link.controlMessage);
writeSchema('admission-answer', admission.admissionAnswer);
const frames = (await recordCalls(await load('test/fakes/signalling.ts'))).map((frame) =>
  JSON.stringify(frame),
);
save('signalling-frames.json', `[\n${frames.join(',\n')}\n]\n`);
rmSync(folder, { recursive: true, force: true });
