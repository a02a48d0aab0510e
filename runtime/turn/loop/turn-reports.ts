/**
 * What a call reports while it runs: timeline items, latencies, explained silences and decisions to the
 * control plane, and events to the web client.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { AgentEvent } from '#protocol/session-events.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { Effect, LineStretch, TimelineItem, TurnWaterfall } from '../machine/turn-effects.ts';
import type { ChatRequests } from './chat-requests.ts';
import type { NotedSilence } from './silence-log.ts';
import type { NotedSounds } from './sound-log.ts';

/** Where a call's reports go. */
export interface TurnReportsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the client may see events of tools. */
  readonly hasToolEvents: boolean;
  readonly report: (report: DurableReport) => void;
  readonly live: (event: Record<string, unknown>) => void;
  /** Sends JSON to the web client, if one is connected. */
  readonly sendMessage: (json: string) => void;
  /** Takes what knowledge was looked up for a turn; null where nothing was, or it has been taken. */
  readonly takeRetrieval: ChatRequests['takeRetrieval'];
}

/** Sends a call's reports. */
export class TurnReports {
  readonly #options: TurnReportsOptions;

  constructor(options: TurnReportsOptions) {
    this.#options = options;
  }

  /** Carries out an effect that reports something. */
  tell(
    effect: Extract<Effect, { do: 'optOut' | 'record' | 'event' | 'explain' | 'reportTurn' | 'line' }>,
  ): void {
    switch (effect.do) {
      case 'optOut':
        this.#options.report({ type: 'opt_out', by: effect.by });
        break;
      case 'record':
        this.#options.report({ type: 'items', items: this.#timelineItems(effect.item) });
        break;
      case 'event':
        this.tellClient(effect.event);
        break;
      case 'explain':
        this.#options.logger.debug({ decision: effect.decision }, 'decided');
        this.#options.live({ type: 'decision', ...effect.decision });
        break;
      case 'reportTurn':
        this.#reportTurn(effect.waterfall);
        break;
      case 'line':
        this.#reportLine(effect.stretch);
        break;
      default:
        effect satisfies never;
    }
  }

  #reportTurn({ speechEndMs, ...parts }: TurnWaterfall): void {
    const latency = { ...parts, speech_ended_at: this.#isoTime(speechEndMs) };
    this.#options.logger.info(
      { turnId: latency.turn_id, totalMs: latency.total_ms, endpointRule: latency.endpoint_rule },
      'turn',
    );
    this.#options.report({ type: 'turn', latency });
    this.#options.live({ type: 'turn', ...latency });
  }

  #reportLine({ endedBy, fromMs, gaveUp, is, untilMs }: LineStretch): void {
    const line = {
      line: is,
      started_at: this.#isoTime(fromMs),
      duration_ms: untilMs - fromMs,
      ended_by: endedBy,
      ...(gaveUp ? { gave_up: gaveUp } : {}),
    };
    this.#options.report({ type: 'line', line });
    this.#options.live({ type: 'line', ...line });
  }

  /** Reports a silence the caller had to wait through, with its causes, and a time of both speaking. */
  reportSounds({ silence, overlap }: NotedSounds): void {
    if (silence) this.#reportSilence(silence);
    if (overlap)
      this.#options.report({
        type: 'overlap',
        overlap: {
          started_at: this.#isoTime(overlap.fromMs),
          duration_ms: overlap.untilMs - overlap.fromMs,
          begun_by: overlap.begunBy,
        },
      });
  }

  #reportSilence({ turnId, fromMs, untilMs, endedBy, causes, decisions }: NotedSilence): void {
    this.#options.report({
      type: 'silence',
      silence: {
        turn_id: turnId,
        started_at: this.#isoTime(fromMs),
        duration_ms: untilMs - fromMs,
        ended_by: endedBy,
        causes,
        decisions: decisions.map(({ about, rule, anchorMs, deadlineMs, atMs, rejected = [] }) => ({
          about,
          rule,
          anchor_at: this.#isoTime(anchorMs),
          deadline_at: this.#isoTime(deadlineMs),
          decided_at: this.#isoTime(atMs),
          rejected: rejected.map((other) => ({
            rule: other.rule,
            deadline_at: this.#isoTime(other.deadlineMs),
            because: other.because,
          })),
        })),
      },
    });
  }

  /** With a turn's first words comes what was looked up for them. */
  #timelineItems(item: TimelineItem): SessionItem[] {
    const recorded = this.#timelineItem(item);
    const retrieval = item.turn_id === null ? null : this.#options.takeRetrieval(item.turn_id);
    return retrieval ? [recorded, { ...retrieval, created_at: recorded.created_at }] : [recorded];
  }

  #timelineItem({ createdAtMs, ...item }: TimelineItem): SessionItem {
    return { ...item, created_at: this.#isoTime(createdAtMs) } as SessionItem;
  }

  #isoTime(monotonicMs: number): string {
    const { clock } = this.#options;
    return new Date(clock.wallTime() - (clock.now() - monotonicMs)).toISOString();
  }

  /** Sends an event to the web client and to those who watch the call. */
  tellClient(event: AgentEvent): void {
    const isToolEvent = event.type.startsWith('tool.');
    if (!isToolEvent || this.#options.hasToolEvents) this.#options.sendMessage(JSON.stringify(event));
    this.#options.live({ ...event });
  }
}
