/**
 * All mongoose models of the product on one connection; each resource's model is in `models/<name>-model.ts`.
 */
import type { Connection } from 'mongoose';
import type { Clock } from '#base/clock.ts';
import { repeatManyChanges } from './database-away.ts';
import { measureCommands, type OnCommand } from './measure-commands.ts';
import { defineAgents } from './models/agent-model.ts';
import {
  defineAgentTests,
  defineTestBatches,
  defineTestInputs,
  defineTestRuns,
} from './models/agent-test-model.ts';
import { defineAuditLog } from './models/audit-model.ts';
import { defineBatchCalls, defineBatchRows, defineDoNotCall } from './models/batch-call-model.ts';
import { defineCallCountStates, defineCallCounts } from './models/call-count-model.ts';
import { defineDeliveries } from './models/delivery-model.ts';
import { defineIdempotencyKeys } from './models/idempotency-model.ts';
import { defineJudgedTurns } from './models/judged-turn-model.ts';
import { defineKeys } from './models/key-model.ts';
import { defineKnowledge, defineKnowledgeRevisions } from './models/knowledge-model.ts';
import { defineLearnings } from './models/learning-model.ts';
import { defineLedger } from './models/ledger-model.ts';
import { defineNumbers } from './models/number-model.ts';
import { definePlaces } from './models/place-model.ts';
import { definePrivacy } from './models/privacy-model.ts';
import { defineRefusals } from './models/refusal-model.ts';
import { defineRegretDays, defineRegrets } from './models/regret-model.ts';
import { defineRehearsals } from './models/rehearsal-model.ts';
import { defineReplicas } from './models/replica-model.ts';
import { defineScorecards, defineScoredCalls, defineScoreWatches } from './models/scorecard-model.ts';
import { defineSessionArchives } from './models/session-archive-model.ts';
import { defineSessionAttachments, defineSessions } from './models/session-model.ts';
import { defineShares } from './models/share-model.ts';
import { defineSipPhones } from './models/sip-phone-model.ts';
import { defineSipRegistrations } from './models/sip-registration-model.ts';
import { defineSmsMessages, defineSmsThreads } from './models/sms-model.ts';
import { defineSpending } from './models/spending-model.ts';
import { defineTextSessions, defineTextTurns } from './models/text-session-model.ts';
import { defineTools } from './models/tool-model.ts';
import { defineToolServers } from './models/tool-server-model.ts';
import { defineUsers } from './models/user-model.ts';
import { defineVersions } from './models/version-model.ts';
import { defineVoices } from './models/voice-model.ts';
import { limitRequestWaits } from './request-wait.ts';

/** Defines all models on a connection. With `measured`, their commands are measured. */
export function defineModels(
  connection: Connection,
  measured?: { readonly clock: Pick<Clock, 'now'>; readonly onCommand: OnCommand },
) {
  const models = {
    users: defineUsers(connection),
    keys: defineKeys(connection),
    agents: defineAgents(connection),
    versions: defineVersions(connection),
    shares: defineShares(connection),
    scorecards: defineScorecards(connection),
    scoredCalls: defineScoredCalls(connection),
    scoreWatches: defineScoreWatches(connection),
    voices: defineVoices(connection),
    tools: defineTools(connection),
    toolServers: defineToolServers(connection),
    knowledge: defineKnowledge(connection),
    knowledgeRevisions: defineKnowledgeRevisions(connection),
    numbers: defineNumbers(connection),
    sipRegistrations: defineSipRegistrations(connection),
    sipPhones: defineSipPhones(connection),
    places: definePlaces(connection),
    spending: defineSpending(connection),
    ledger: defineLedger(connection),
    sessions: defineSessions(connection),
    sessionArchives: defineSessionArchives(connection),
    sessionAttachments: defineSessionAttachments(connection),
    deliveries: defineDeliveries(connection),
    privacy: definePrivacy(connection),
    auditLog: defineAuditLog(connection),
    refusals: defineRefusals(connection),
    rehearsals: defineRehearsals(connection),
    judgedTurns: defineJudgedTurns(connection),
    regrets: defineRegrets(connection),
    regretDays: defineRegretDays(connection),
    learnings: defineLearnings(connection),
    replicas: defineReplicas(connection),
    idempotencyKeys: defineIdempotencyKeys(connection),
    agentTests: defineAgentTests(connection),
    testBatches: defineTestBatches(connection),
    testInputs: defineTestInputs(connection),
    testRuns: defineTestRuns(connection),
    batchCalls: defineBatchCalls(connection),
    batchRows: defineBatchRows(connection),
    doNotCall: defineDoNotCall(connection),
    textSessions: defineTextSessions(connection),
    textTurns: defineTextTurns(connection),
    smsMessages: defineSmsMessages(connection),
    smsThreads: defineSmsThreads(connection),
    callCounts: defineCallCounts(connection),
    callCountStates: defineCallCountStates(connection),
  };
  for (const model of Object.values(models)) {
    repeatManyChanges(model);
    limitRequestWaits(model);
    if (measured) measureCommands(model, measured.onCommand, () => measured.clock.now());
  }
  return models;
}
export type Models = ReturnType<typeof defineModels>;
