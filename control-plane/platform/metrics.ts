/** The control plane's metrics; docs/metrics.md describes them for operators. */
import { Meters } from '#base/meters.ts';
import { listFaults } from '#config/errors.ts';
import { CALL_TAGS } from '#config/scorecard.ts';
import { VENDOR_LABELS } from '#config/vendor-labels.ts';
import { callChannel } from '#protocol/call-plan.ts';
import { dialStatus, endReason, turnSilence } from '#protocol/session-record.ts';
import { STORE_COMMANDS } from './store/measure-commands.ts';
import { LEARNING_STEPS } from './store/models/learning-model.ts';
import { REFUSAL_KINDS } from './store/models/refusal-model.ts';
import { SHARE_ENDS } from './store/models/share-model.ts';

const CHANNELS = callChannel.options;
const FAULT_CODES = listFaults().map(({ code }) => code);
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const STATUS_CLASSES = ['2xx', '3xx', '4xx', '5xx'];
const LEDGER_KINDS = ['top_up', 'hold', 'settle', 'refund', 'void', 'adjust'];
const SILENCE_CAUSES = turnSilence.shape.causes.element.shape.cause.options;
/** Upper bounds of histograms, in seconds. */
const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const ADMISSION = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 12];
const SET_UP = [0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 12, 20, 30, 60];
const CALL = [5, 15, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600];
const TURN = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10];
const PART = [0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10];
const SILENCE = [1, 1.5, 2, 3, 5, 8, 15, 30];
const GAP = [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 8, 12, 20];
const WEBHOOK = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300];
const JITTER = [0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2];
const ROUND_TRIP = [0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1];
/** The same for others. */
const RATIO = [0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5];
const MOS = [1, 2, 2.5, 3, 3.25, 3.5, 3.75, 4, 4.2, 4.3, 4.4];

/** The meters updated by the control plane. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates the metrics of one process. */
export function createMetrics() {
  const meters = new Meters().addProcess();
  return {
    meters,
    ...createHttpMetrics(meters),
    ...createCallMetrics(meters),
    ...createShareMetrics(meters),
    ...createScoreMetrics(meters),
    ...createTurnMetrics(meters),
    ...createQualityMetrics(meters),
    ...createFailoverMetrics(meters),
    ...createWalletMetrics(meters),
    ...createWebhookMetrics(meters),
    ...createStoreMetrics(meters),
  };
}

function createHttpMetrics(meters: Meters) {
  const routes = new Set<string>(['none']);
  return {
    /** Patterns of the routes; another route counts as `other`. */
    routes,
    requests: meters.histogram({
      name: 'parley_http_request_seconds',
      help: 'Duration of HTTP requests.',
      labels: { method: METHODS, route: routes, status: STATUS_CLASSES },
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    }),
  };
}

function createCallMetrics(meters: Meters) {
  const channel = { channel: CHANNELS };
  return {
    admissions: meters.histogram({
      name: 'parley_admission_seconds',
      help: 'Time to admit or refuse a call: all checks, the charge and the search for a worker.',
      labels: {
        kind: REFUSAL_KINDS.filter((kind) => kind !== 'phone_number'),
        outcome: ['admitted', 'refused', 'failed'],
      },
      buckets: ADMISSION,
    }),
    refusals: meters.counter({
      name: 'parley_refusals_total',
      help: 'Refused calls, sessions and dials.',
      labels: { kind: REFUSAL_KINDS, reason: FAULT_CODES },
    }),
    callsCreated: meters.counter({
      name: 'parley_calls_created_total',
      help: 'Sessions opened and charged.',
      labels: channel,
    }),
    callsJoined: meters.counter({
      name: 'parley_calls_joined_total',
      help: 'Sessions in which caller and agent met.',
      labels: channel,
    }),
    callsEnded: meters.counter({
      name: 'parley_calls_ended_total',
      help: 'Ended sessions, each counted once.',
      labels: { ...channel, reason: endReason.options },
    }),
    textTurns: meters.counter({
      name: 'parley_text_turns_total',
      help: 'Messages of text sessions that were answered, or were not.',
      labels: { outcome: ['answered', 'failed'] },
    }),
    textSessionsEnded: meters.counter({
      name: 'parley_text_sessions_ended_total',
      help: 'Ended text sessions.',
      labels: { reason: ['client', 'agent', 'idle', 'message_limit'] },
    }),
    smsMessages: meters.counter({
      name: 'parley_sms_messages_total',
      help: 'Text messages: received for an agent, ignored, sent, and what became of the sent ones.',
      labels: { outcome: ['received', 'ignored', 'sent', 'delivered', 'failed'] },
    }),
    dials: meters.counter({
      name: 'parley_dials_total',
      help: 'Outbound dials by their outcome.',
      labels: { status: dialStatus.options },
    }),
    setUps: meters.histogram({
      name: 'parley_call_setup_seconds',
      help:
        'Time from the request for a call until caller and agent have met. Of outbound calls it ' +
        'contains the ringing, of web calls the join of the browser.',
      labels: channel,
      buckets: SET_UP,
      hasExemplars: true,
    }),
    durations: meters.histogram({
      name: 'parley_call_duration_seconds',
      help: 'Duration of calls in which caller and agent met.',
      labels: channel,
      buckets: CALL,
    }),
    /** Because of too many workers that had died while running them (`worker-losses.ts`). */
    sessionsGivenUp: meters.counter({
      name: 'parley_sessions_given_up_total',
      help:
        'Calls ended as internal_error: two workers died in them or for an unknown reason, or ' +
        'four died in another session.',
    }),
  };
}

function createShareMetrics(meters: Meters) {
  return {
    rehearsalsEnded: meters.counter({
      name: 'parley_rehearsals_ended_total',
      help: 'Rehearsals of agents that ended: completed, or failed with a reason.',
      labels: { outcome: ['completed', 'failed'] },
    }),
    sharesEnded: meters.counter({
      name: 'parley_shares_ended_total',
      help: 'Shares of calls that ended: stopped on harm or by hand, promoted, or replaced by a publication.',
      labels: { reason: SHARE_ENDS },
    }),
    learningSteps: meters.counter({
      name: 'parley_learning_steps_total',
      help: 'Steps of learners: settings tried, looked at, promoted or stopped, and pauses by a person.',
      labels: { did: LEARNING_STEPS },
    }),
  };
}

function createScoreMetrics(meters: Meters) {
  return {
    callTags: meters.counter({
      name: 'parley_call_tags_total',
      help: 'Ended calls in which this was found, as they were counted for the scorecards of their agents.',
      labels: { tag: CALL_TAGS },
    }),
    scorecardAlerts: meters.counter({
      name: 'parley_scorecard_alerts_total',
      help: 'Alerts about rates of agents that were opened (a rate left its band) or closed.',
      labels: { state: ['open', 'closed'] },
    }),
  };
}

function createTurnMetrics(meters: Meters) {
  return {
    turns: meters.histogram({
      name: 'parley_turn_latency_seconds',
      help:
        'From the end of the caller’s speech to the first sample of the agent’s reply, the wait ' +
        'for the caller to continue included.',
      labels: { channel: CHANNELS },
      buckets: TURN,
      hasExemplars: true,
    }),
    turnParts: meters.histogram({
      name: 'parley_turn_part_seconds',
      help:
        'The parts of a turn’s latency; they add up to it. `vendor` served the part: transcript ' +
        'the recogniser, first_token and first_sentence the model, first_audio the voice; ' +
        'endpoint and playout are Parley’s own.',
      labels: {
        part: ['endpoint', 'transcript', 'first_token', 'first_sentence', 'first_audio', 'playout'],
        vendor: ['parley', ...VENDOR_LABELS],
      },
      buckets: PART,
      hasExemplars: true,
    }),
    silences: meters.histogram({
      name: 'parley_silence_seconds',
      help: 'Silences of more than 0.7 s that the caller had to wait through, by the cause of most of it.',
      labels: { cause: SILENCE_CAUSES, ended_by: turnSilence.shape.ended_by.options },
      buckets: SILENCE,
      hasExemplars: true,
    }),
  };
}

/** Of phone calls, once each has ended. */
function createQualityMetrics(meters: Meters) {
  const histogram = (name: string, help: string, buckets: readonly number[]) =>
    meters.histogram({ name: `parley_call_${name}`, help, buckets, hasExemplars: true });
  return {
    mos: histogram(
      'mos',
      'Estimated quality of the audio received in a phone call, 1 to 4.4 (ITU-T G.107).',
      MOS,
    ),
    packetLoss: histogram('packet_loss_ratio', 'Share of a phone call’s packets that never arrived.', RATIO),
    concealed: histogram(
      'concealed_audio_ratio',
      'Share of a phone call’s audio that was lost or late and concealed.',
      RATIO,
    ),
    jitter: histogram('jitter_seconds', 'Interarrival jitter at the end of a phone call (RFC 3550).', JITTER),
    roundTrips: histogram(
      'round_trip_seconds',
      'Round trip of a phone call’s audio, from the peer’s reports.',
      ROUND_TRIP,
    ),
    unheardCalls: meters.counter({
      name: 'parley_calls_unheard_total',
      help: 'Phone calls in which nothing was heard from the caller.',
    }),
    sipRegistrations: meters.counter({
      name: 'parley_sip_registrations_total',
      help: 'Attempts to register at PBXs by their outcome; unsent: no worker has signalling.',
      labels: { outcome: ['registered', 'failed', 'refused', 'unsent'] },
    }),
    phoneLogins: meters.counter({
      name: 'parley_phone_logins_total',
      help: 'Answers of phones to a challenge by their outcome; too_many: not checked.',
      labels: { outcome: ['proven', 'wrong', 'too_many'] },
    }),
  };
}

function createFailoverMetrics(meters: Meters) {
  return {
    takeovers: meters.counter({
      name: 'parley_takeovers_total',
      help:
        'Calls offered to another worker: failover after the death of a worker, hand_over by a ' +
        'draining one. kept: the draining worker kept the call; untold: the next worker was out of ' +
        'reach, and a failover follows, counted too; lost: no worker took it.',
      labels: { kind: ['failover', 'hand_over'], outcome: ['moved', 'kept', 'untold', 'lost'] },
    }),
    takeoverGaps: meters.histogram({
      name: 'parley_takeover_gap_seconds',
      help:
        'Time between the last sign of life of the worker that had a call and its assignment to ' +
        'the next one.',
      labels: { kind: ['failover', 'hand_over'] },
      buckets: GAP,
      hasExemplars: true,
    }),
  };
}

function createWalletMetrics(meters: Meters) {
  const kind = { kind: LEDGER_KINDS };
  return {
    postings: meters.counter({
      name: 'parley_wallet_postings_total',
      help: 'Entries of the wallets.',
      labels: kind,
    }),
    credited: meters.counter({
      name: 'parley_wallet_credited_dollars_total',
      help: 'Amount of the entries that added to a wallet.',
      labels: kind,
    }),
    debited: meters.counter({
      name: 'parley_wallet_debited_dollars_total',
      help: 'Amount of the entries that took from a wallet.',
      labels: kind,
    }),
    lowCredit: meters.counter({
      name: 'parley_wallet_low_credit_total',
      help: 'Falls of a wallet below one dollar.',
    }),
  };
}

function createWebhookMetrics(meters: Meters) {
  const outcome = { outcome: ['delivered', 'dropped'] };
  return {
    webhooks: meters.counter({
      name: 'parley_webhooks_total',
      help: 'Finished webhooks: delivered, or dropped after the last attempt.',
      labels: outcome,
    }),
    webhookAges: meters.histogram({
      name: 'parley_webhook_age_seconds',
      help: 'Time from an event until its webhook was finished, all attempts included.',
      labels: outcome,
      buckets: WEBHOOK,
      hasExemplars: true,
    }),
    webhookAttempts: meters.histogram({
      name: 'parley_webhook_attempt_seconds',
      help: 'Duration of single attempts to deliver a webhook.',
      labels: { outcome: ['accepted', 'refused', 'unreachable'] },
      buckets: WEBHOOK,
    }),
  };
}

function createStoreMetrics(meters: Meters) {
  return {
    storeCommands: meters.histogram({
      name: 'parley_store_command_seconds',
      help:
        'Duration of the commands to the database, their repetitions included. bulk_write: ' +
        'several changes at once; error: all but a duplicate key, which is an answer.',
      labels: { command: STORE_COMMANDS, outcome: ['ok', 'error'] },
      buckets: SHORT,
    }),
    redisCommands: meters.histogram({
      name: 'parley_redis_command_seconds',
      help:
        'Duration of the commands to Redis; unanswered: it was away or too late, and this ' +
        'replica decided alone.',
      labels: { outcome: ['answered', 'unanswered'] },
      buckets: SHORT,
    }),
  };
}
