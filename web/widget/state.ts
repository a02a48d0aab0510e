/** State of the widget, and the actions a visitor can take. */
import type { AgentMode } from '../client/events.ts';
import type { TranscriptSegment } from '../client/transcript.ts';
import type { Texts } from './languages/texts.ts';
import type { Settings } from './settings.ts';

/** Stage of the visitor's conversation. */
export type Stage = 'idle' | 'consent' | 'connecting' | 'connected' | 'reconnecting' | 'ended';

/** Everything that is shown. */
export interface WidgetState {
  readonly isOpen: boolean;
  readonly stage: Stage;
  readonly mode: AgentMode;
  readonly lines: readonly TranscriptSegment[];
  /** Name of the text for the current problem. */
  readonly problem: keyof Texts | null;
  readonly isMuted: boolean;
  readonly hasMicrophone: boolean;
  /** True while the proactive message is shown. */
  readonly isInviting: boolean;
}

/** Initial state. */
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

/** Context of the state: attributes, language, the agent's name. */
export interface Surroundings {
  readonly settings: Settings;
  readonly texts: Texts;
  readonly language: string;
  readonly direction: 'ltr' | 'rtl';
  readonly agentName: string | null;
}

/** Actions of a visitor. */
export interface Actions {
  open(): void;
  minimise(): void;
  dismiss(): void;
  start(microphone: boolean): void;
  accept(): void;
  end(): void;
  mute(): void;
  say(text: string): void;
  /** Reports that the visitor is typing. */
  type(): void;
  /** Current loudness, 0 to 1. */
  level(): number;
}

/** The line under the agent's name. */
export function statusText({ stage, mode }: WidgetState, texts: Texts): string {
  if (stage === 'connected') return texts[mode];
  return stage === 'idle' || stage === 'consent' ? texts.ready : texts[stage];
}

/** True while a conversation is running or starting. */
export function isRunning({ stage }: WidgetState): boolean {
  return stage === 'connecting' || stage === 'connected' || stage === 'reconnecting';
}
