/**
 * A phone call by sipp: INVITE, a recorded microphone as RTP, BYE. Its received audio is taken from a capture
 * of its media port, because sipp keeps none.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCapture } from '#caller/capture.ts';
import { addressOf } from '#caller/sip-call.ts';
import { freeSippMediaPort, freeUdpPort } from '#test/free-port.ts';
import { heardOn } from './ear.ts';
import { recordUlaw, type Utterance } from './microphone.ts';
import { callAndPlay, hangUp, type SippCaller } from './sipp-call-steps.ts';

/** Result of the call. */
export interface SippCall {
  /** 0 if the scenario succeeded. */
  readonly exitStatus: number | null;
  /** 8 kHz. */
  readonly heard: Int16Array;
}

/** Calls, plays the whole microphone recording and hangs up. */
export async function callWithSipp(
  target: string,
  from: string,
  utterances: readonly Utterance[],
): Promise<SippCall> {
  const folder = mkdtempSync(join(tmpdir(), 'sipp-call-'));
  const microphone = recordUlaw(utterances);
  writeFileSync(join(folder, 'microphone.ul'), microphone.file);
  writeFileSync(
    join(folder, 'call.xml'),
    scenario({ target, from, tag: '[call_number]' }, Math.round(microphone.seconds * 1_000)),
  );
  const { host, port } = addressOf(target);
  const mediaPort = await freeSippMediaPort();
  const capture = await startCapture({ first: mediaPort, last: mediaPort });
  const child = spawn(
    'sipp',
    [
      '-sf',
      'call.xml',
      `${host}:${port}`,
      '-i',
      '127.0.0.1',
      '-p',
      String(await freeUdpPort()),
      '-mp',
      String(mediaPort),
      '-m',
      '1',
      '-nostdin',
    ],
    { cwd: folder, stdio: 'ignore' },
  );
  const [exitStatus] = (await once(child, 'exit')) as [number | null];
  rmSync(folder, { recursive: true, force: true });
  return { exitStatus, heard: heardOn(mediaPort, await capture.stop()) };
}

function scenario(caller: SippCaller, milliseconds: number): string {
  return `<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="a caller with a microphone">
${callAndPlay(caller, 1)}
<pause milliseconds="${milliseconds}"/>
${hangUp(caller)}
</scenario>
`;
}
