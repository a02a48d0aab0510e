/**
 * The indexes of the sessions, each with the queries that need it: every new session is added to all of them.
 * `session-plans.test.ts` fails if one serves no query, or if a query reads more than it returns.
 */

/** An index, and what it is for. */
interface SessionIndex {
  readonly key: Readonly<Record<string, 1 | -1>>;
  /** It has only the sessions that match this. */
  readonly only?: Readonly<Record<string, object | boolean>>;
  readonly serves: string;
  /** Whether archived sessions need it, too; true unless stated otherwise. */
  readonly ofEnded?: false;
}

const NEWEST_FIRST = { created_at: -1, _id: -1 } as const;
const TEXT = { $type: 'string' } as const;

/** Of indexes that fit a query equally well, the embedded planner takes the first. */
export const SESSION_INDEXES: readonly SessionIndex[] = [
  {
    key: { team_id: 1, caller_number: 1, ...NEWEST_FIRST },
    only: { caller_number: TEXT },
    serves: 'lists of a caller; erasure of a phone number',
  },
  {
    key: { team_id: 1, sip_call_id: 1, ...NEWEST_FIRST },
    only: { sip_call_id: TEXT },
    serves: 'lists of a SIP Call-ID',
  },
  {
    key: { team_id: 1, agent_id: 1, ...NEWEST_FIRST },
    serves: 'lists of an agent, its statistics, its daily cap',
  },
  {
    key: { team_id: 1, ...NEWEST_FIRST },
    serves: 'lists of a team, its statistics, its retention',
  },
  {
    key: { team_id: 1, status: 1, direction: 1, end_reason: 1, ...NEWEST_FIRST },
    serves:
      'lists of a status, direction or end reason: the other two are named too, so that the rest is in ' +
      'order; calls in progress of an account, an agent or a trunk',
  },
  {
    key: { team_id: 1, end_user_id: 1 },
    only: { end_user_id: TEXT },
    serves: 'erasure of a person by the team’s own id',
  },
  {
    key: { due: 1, status: 1, expires_at: 1 },
    only: { due: { $gt: 0 } },
    ofEnded: false,
    serves:
      'what is in progress or still to be done, of all teams: sweeper, workers, analyses, shares, ' +
      'scorecards, metrics',
  },
  {
    key: { uncounted: 1, team_id: 1, created_at: 1 },
    only: { uncounted: true },
    ofEnded: false,
    serves: 'ended calls that the sums of the statistics lack',
  },
];

/** Names of indexes of earlier releases, which those replace. */
export const RETIRED_SESSION_INDEXES = [
  'team_id_1_status_1_created_at_-1__id_-1',
  'team_id_1_direction_1_created_at_-1__id_-1',
  'team_id_1_end_reason_1_created_at_-1__id_-1',
  'team_id_1_ended_at_1',
  'user_id_1_status_1',
  'agent_id_1_status_1',
  'sip_call_id_1',
  'status_1_expires_at_1',
  'worker.instance_id_1_status_1',
  'billing.state_1_billing.at_1',
  'outbox.at_1',
  'analysis.state_1_analysis.at_1',
];
