/** What the widget shows at one moment, and what a visitor can do in it. */
import type { AgentMode } from '../client/events.ts';
import type { TranscriptSegment } from '../client/transcript.ts';
import type { Texts } from './languages.ts';
import type { Settings } from './settings.ts';

/** Where the visitor stands. */
export type Stage = 'idle' | 'consent' | 'connecting' | 'connected' | 'reconnecting' | 'ended';

/** All of what is shown. */
export interface WidgetState {
  readonly isOpen: boolean;
  readonly stage: Stage;
  readonly mode: AgentMode;
  readonly lines: readonly TranscriptSegment[];
  /** Which text says what went wrong. */
  readonly problem: keyof Texts | null;
  readonly isMuted: boolean;
  readonly hasMicrophone: boolean;
  /** The proactive message is shown. */
  readonly isInviting: boolean;
}

/** Before anything happened. */
export const FRESH: WidgetState = {
  isOpen: false,
  stage: 'idle',
  mode: 'listening',
  lines: [],
  problem: null,
  isMuted: false,
  hasMicrophone: false,
  isInviting: false,
};

/** What surrounds the state: attributes, language, the agent's name. */
export interface Surroundings {
  readonly settings: Settings;
  readonly texts: Texts;
  readonly language: string;
  readonly direction: 'ltr' | 'rtl';
  readonly agentName: string | null;
}

/** What a visitor can do. */
export interface Actions {
  open(): void;
  minimise(): void;
  dismiss(): void;
  start(microphone: boolean): void;
  accept(): void;
  end(): void;
  mute(): void;
  say(text: string): void;
  /** The visitor is typing. */
  type(): void;
  /** Loudness now, 0 to 1. */
  level(): number;
}

/** The line under the agent's name. */
export function statusText({ stage, mode }: WidgetState, texts: Texts): string {
  if (stage === 'connected') return texts[mode];
  return stage === 'idle' || stage === 'consent' ? texts.ready : texts[stage];
}

/** A conversation is being had or begun. */
export function isRunning({ stage }: WidgetState): boolean {
  return stage === 'connecting' || stage === 'connected' || stage === 'reconnecting';
}
