/**
 * An upgrade replaces part after part: the control plane of this release serves workers and signalling of the
 * last one. Their frames stand in `last-release/`, as their own code writes and reads them.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { endReason } from '#protocol/session-record.ts';
import { admissionRequest } from '#protocol/sip-admission.ts';
import {
  type ControlMessage,
  controlMessage,
  type WorkerMessage,
  workerMessage,
} from '#protocol/worker-link.ts';
import { testPlan, WEB } from '../runtime/test-plan.ts';

interface Frame {
  readonly type: string;
  readonly envelope?: { readonly report: { readonly type: string } };
}

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'last-release', `${name}.json`), 'utf8'));
}

const WORKER_FRAMES = fixture('worker-frames') as readonly Frame[];
const CONTROL_FRAMES = fixture('control-frames') as readonly Frame[];
const QUESTIONS = fixture('admission-requests') as readonly object[];
/** How the last release reads a message. */
const oldWorkerMessage = z.fromJSONSchema(fixture('worker-message.schema') as never);
const oldControlMessage = z.fromJSONSchema(fixture('control-message.schema') as never);

/** The kind of a frame; a report’s own. */
function kindOf({ type, envelope }: Frame): string {
  return envelope ? `${type} ${envelope.report.type}` : type;
}

/** The values of `type` in a union of messages. */
function typesOf(schema: z.ZodType): string[] {
  const { options } = schema as unknown as {
    readonly options: readonly { readonly shape: { readonly type: { readonly value: string } } }[];
  };
  return options.map(({ shape }) => shape.type.value);
}

const named = (frames: readonly Frame[]) => frames.map((frame) => [kindOf(frame), frame] as const);

describe('a frame of the last release', () => {
  it.each(named(WORKER_FRAMES))('%s of a worker is read whole', (_, frame) => {
    expect(workerMessage.parse(frame)).toMatchObject(frame);
  });

  it.each(named(CONTROL_FRAMES))('%s of a control plane is read whole', (_, frame) => {
    expect(controlMessage.parse(frame)).toMatchObject(frame);
  });

  it('with a question of signalling is read whole', () => {
    expect(QUESTIONS.map((question) => admissionRequest.parse(question))).toEqual(QUESTIONS);
  });
});

describe('a frame of this release that the last one must read', () => {
  /** Kinds that are new: only sent to those who ask for them, or ignored by others. */
  const NEW = {
    control: [
      'assign_text_turn',
      'sessions_checked',
      'release_stream',
      'stream',
      'judge_pauses',
      'rehearse',
      'judge_turn',
      'measure_regret',
      'suggest_agent',
      'ask_of_test_call',
      'send_sip',
      'speech_models',
    ],
    worker: ['hand_over', 'take_stream'],
  };

  it('is of a kind that it knows, or of one that it can do without', () => {
    const unknown = (types: readonly string[], frames: readonly Frame[]) =>
      types.filter((type) => !frames.some((frame) => frame.type === type));
    expect(unknown(typesOf(controlMessage), CONTROL_FRAMES)).toEqual(NEW.control);
    expect(unknown(typesOf(workerMessage), WORKER_FRAMES)).toEqual(NEW.worker);
  });

  /** Each frame of the last release as this one writes it, with what it may add. */
  const controlFrames = CONTROL_FRAMES.map((frame) => added(controlMessage.parse(frame)));
  const workerFrames = WORKER_FRAMES.map((frame) => addedByWorker(workerMessage.parse(frame)));

  it.each(named(controlFrames as readonly Frame[]))('%s of a control plane is read', (_, frame) => {
    expect(oldControlMessage.safeParse(frame)).toMatchObject({ success: true });
  });

  it.each(named(workerFrames as readonly Frame[]))('%s of a worker is read', (_, frame) => {
    expect(oldWorkerMessage.safeParse(frame)).toMatchObject({ success: true });
  });

  it.each(endReason.options)('that ends a call as %s is read', (end_reason) => {
    const frame: ControlMessage = { type: 'end', session_id: 's1', epoch: 1, end_reason };
    expect(oldControlMessage.safeParse(frame)).toMatchObject({ success: true });
  });

  it('would be refused with a new setting of an agent, which is why a plan must not have one', () => {
    const plan = testPlan();
    const config = { ...plan.config, voice: { ...plan.config.voice, pitch: 1 } };
    const frame = { type: 'assign', session_id: 's1', epoch: 1, plan: { ...plan, config } };
    expect(oldControlMessage.safeParse(frame)).toMatchObject({ success: false });
  });
});

const SERVER = '10.0.0.1:9022';

/** What a control plane of this release adds to a message. */
function added(message: ControlMessage): ControlMessage {
  switch (message.type) {
    case 'registered':
      return { ...message, checks_sessions: true, has_rooms: true };
    case 'stale':
      return { ...message, is_taken: true, takes_stream: true };
    case 'assign': {
      const { handover } = message;
      const plan = testPlan({}, message.plan.transport.type === 'webrtc' ? WEB : {});
      if (!handover) return { ...message, plan };
      const dialog = handover.dialog && { ...handover.dialog, server: SERVER };
      const former = { instance_id: 'worker-1', epoch: 1 };
      const more = { dialog, is_handed_over: true, is_unheard: true, former } as const;
      return { ...message, plan, handover: { ...handover, ...more } };
    }
    default:
      return message;
  }
}

/** What a worker of this release adds. */
function addedByWorker(message: WorkerMessage): WorkerMessage {
  switch (message.type) {
    case 'register':
      return {
        ...{ ...message, wall_time: 1_763_892_000_000, awaits_check: true, sip_servers: [SERVER] },
        ...{ takes_stream: true, takes_text: true, judges_pauses: true, rehearses: true, web_ready: true },
        judges_turns: true,
        measures_regret: true,
        asks_of_test_calls: true,
        sends_sip: true,
      };
    case 'heartbeat':
      return { ...message, sip_servers: [SERVER], web_ready: false };
    case 'report': {
      const { envelope } = message;
      const { report } = envelope;
      if (report.type === 'dialog')
        return { ...message, envelope: { ...envelope, report: { ...report, server: SERVER } } };
      if (report.type === 'dial')
        return { ...message, envelope: { ...envelope, report: { ...report, error: 'refused' } } };
      if (report.type === 'agent_test')
        return { ...message, envelope: { ...envelope, report: { ...report, cost_micros: 12 } } };
      return message;
    }
    default:
      return message;
  }
}
