/** The control plane's end of the worker link over a sink of the test's, composed as the product does it. */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { ConnectedWorkers } from '#control-plane/calls/workers/connected-workers.ts';
import { NO_OTHER_REPLICAS } from '#control-plane/calls/workers/other-replicas.ts';
import { SpeakingAgents } from '#control-plane/calls/workers/speaking-agents.ts';
import { WorkerDispatch } from '#control-plane/calls/workers/worker-dispatch.ts';
import { WorkerHub } from '#control-plane/calls/workers/worker-hub.ts';
import type { ReportSink } from '#control-plane/platform/report-sink.ts';

/** The three parts of it. */
export interface TestHub {
  readonly workers: ConnectedWorkers;
  readonly dispatch: WorkerDispatch;
  readonly hub: WorkerHub;
}

/** Makes them for a single replica, or for one that knows of others. */
export function createTestHub(deps: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sink: ReportSink;
  /** Speech models that the control plane has. */
  readonly speechModels?: () => readonly string[];
  /** Whether web calls are in LiveKit rooms; false if absent. */
  readonly hasRooms?: boolean;
  /** Whether another replica has the link of a worker; false if absent. */
  readonly holdsElsewhere?: (instanceId: string) => boolean;
}): TestHub {
  const workers = new ConnectedWorkers(deps.logger);
  const speaking = new SpeakingAgents(deps.clock);
  const { holdsElsewhere } = deps;
  const others = holdsElsewhere
    ? { ...NO_OTHER_REPLICAS, mayExist: true, holds: holdsElsewhere }
    : NO_OTHER_REPLICAS;
  const dispatch = new WorkerDispatch({ workers, others, speaking });
  return {
    workers,
    dispatch,
    hub: new WorkerHub({
      speechModels: () => [],
      hasRooms: false,
      ...deps,
      workers,
      others,
      dispatch,
      speaking,
    }),
  };
}
