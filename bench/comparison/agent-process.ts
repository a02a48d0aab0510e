/**
 * The program of a framework's agent: started with the comparison's settings, watched until it is ready, and
 * killed with all its processes. It writes what it has said in each call to a file.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Process, processTree, signalTree } from '#test/journeys/process-tree.ts';
import type { EngineUrls } from '../engine-process.ts';
import { GREETING, INSTRUCTIONS } from './script.ts';
import type { EndOfTurn, LivekitSettings } from './side.ts';

const READY_MS = 90_000;
/** Longest wait for what an agent has said, after the call. */
const KEPT_MS = 20_000;
/** Output kept for the message of a failed start. */
const KEPT_CHARACTERS = 3_000;

/** A program and how it says that it is ready. */
export interface AgentProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** In addition to those of every agent. */
  readonly environment: Readonly<Record<string, string>>;
  readonly readyText: string;
}

/** Settings of every agent. */
export interface AgentSettings {
  readonly livekit: LivekitSettings;
  readonly engines: EngineUrls;
  readonly endOfTurn: EndOfTurn;
}

/** A running program. */
export interface AgentProcess {
  processes(): Process[];
  /** The messages that the agent stored under the name of this call; null if it stored none. */
  said(call: string): Promise<readonly string[] | null>;
  close(): Promise<void>;
}

/** Starts the program. Throws with its last output if it ends, or does not become ready in time. */
export async function startAgent(program: AgentProgram, settings: AgentSettings): Promise<AgentProcess> {
  const histories = mkdtempSync(join(tmpdir(), 'comparison-'));
  const child = spawn(program.command, program.args, {
    cwd: program.cwd,
    // A group of its own, whose processes are still found when the program itself has ended.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...settings.livekit,
      COMPARISON_OPENAI_URL: settings.engines.openai,
      COMPARISON_DEEPGRAM_URL: settings.engines.deepgram,
      COMPARISON_HISTORY: histories,
      COMPARISON_GREETING: GREETING,
      COMPARISON_INSTRUCTIONS: INSTRUCTIONS,
      COMPARISON_END_OF_TURN: settings.endOfTurn,
      ...program.environment,
    },
  });
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  try {
    await untilPrinted(child, program.readyText);
  } catch (error) {
    killAll(child);
    rmSync(histories, { recursive: true, force: true });
    throw error;
  }
  return {
    processes: () => (child.pid === undefined ? [] : processTree(child.pid)),
    said: (call) => readHistory(join(histories, `${call}.json`)),
    async close() {
      // On SIGTERM an agent in production waits for its calls. None are left, so it is killed.
      killAll(child);
      await ended;
      rmSync(histories, { recursive: true, force: true });
    },
  };
}

/** Kills the program and all that it started; some of these may outlive it. */
function killAll({ pid }: ChildProcess): void {
  // The command does not exist.
  if (pid === undefined) return;
  signalTree(pid, 'SIGKILL');
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // None of the group is left.
  }
}

function untilPrinted(child: ChildProcess, readyText: string): Promise<void> {
  let output = '';
  let isReady = false;
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(limit);
      reject(new Error(`the agent did not start: ${why}\n${output}`));
    };
    const limit = setTimeout(fail, READY_MS, `not ready after ${READY_MS / 1_000} s`);
    child.on('error', ({ message }) => fail(message));
    child.once('exit', (code, signal) => fail(`it ended with ${signal ?? code}`));
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        if (process.env['COMPARISON_LOG'] !== undefined) process.stderr.write(text);
        if (isReady) return;
        output = (output + text).slice(-KEPT_CHARACTERS);
        if (!output.includes(readyText)) return;
        isReady = true;
        clearTimeout(limit);
        resolve();
      });
  });
}

async function readHistory(file: string): Promise<readonly string[] | null> {
  const lastMs = performance.now() + KEPT_MS;
  while (!existsSync(file)) {
    if (performance.now() > lastMs) return null;
    await new Promise((done) => setTimeout(done, 100));
  }
  return JSON.parse(readFileSync(file, 'utf8')) as string[];
}
