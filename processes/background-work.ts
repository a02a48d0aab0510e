/** The background loops of every control plane. */
import { startRoomReconciliation } from '#control-plane/calls/livekit/reconcile-rooms.ts';
import { startStoringHeld } from '#control-plane/calls/recordings/store-silent.ts';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { startNumberMaintenance } from '#control-plane/catalogue/numbers/maintain-numbers.ts';
import { startRegistrations } from '#control-plane/catalogue/registrations/keep-registrations.ts';
import { startTestRunner } from '#control-plane/jobs/agent-tests/test-runner.ts';
import { startAnalysisRunner } from '#control-plane/jobs/analysis/analysis-runner.ts';
import { startBatchRunner } from '#control-plane/jobs/batch-calls/batch-runner.ts';
import { startRegretRunner } from '#control-plane/jobs/regret/regret-runner.ts';
import { startJudgeRunner } from '#control-plane/jobs/rehearsals/judge-runner.ts';
import { startRehearsalRunner } from '#control-plane/jobs/rehearsals/rehearsal-runner.ts';
import { startSms } from '#control-plane/jobs/sms/sms-loop.ts';
import { startTextSessions } from '#control-plane/jobs/text-sessions/text-session-loop.ts';
import { startCallCounter } from '#control-plane/operations/analytics/call-counter.ts';
import { startArchive } from '#control-plane/operations/archive/archive-sessions.ts';
import { learnersCandidates, startLearner } from '#control-plane/operations/learning/learner.ts';
import { startRetention } from '#control-plane/operations/privacy/retention.ts';
import { startScoreCounter } from '#control-plane/operations/scorecard/score-counter.ts';
import { startShareCounter } from '#control-plane/operations/shares/share-counter.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import { startIndexBuilds } from '#control-plane/platform/background/index-builds.ts';
import type { Context } from '#control-plane/platform/context.ts';
import type { Database } from '#control-plane/platform/store/database.ts';

/** Starts them. */
export function startBackgroundWork(context: Context, kind: Database['kind']): readonly BackgroundLoop[] {
  return [
    startDeliverer(context),
    startAnalysisRunner(context),
    startTestRunner(context),
    startBatchRunner(context),
    startRehearsalRunner(context),
    startJudgeRunner(context),
    startRegretRunner(context, learnersCandidates(context)),
    startLearner(context),
    startTextSessions(context),
    startSms(context),
    startNumberMaintenance(context),
    startRegistrations(context),
    startRoomReconciliation(context),
    startRetention(context),
    startArchive(context),
    startCallCounter(context),
    startShareCounter(context),
    startScoreCounter(context),
    startStoringHeld(context),
    ...(kind === 'mongodb' ? [startIndexBuilds(context)] : []),
  ];
}
