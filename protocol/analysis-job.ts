/** The job of post-call analysis, sent over the worker link. */
import { z } from 'zod';
import { callPlan } from './call-plan.ts';
import { sessionItem } from './session-record.ts';

/** The conversation that an analysis job evaluates. */
export const analysisJob = z.object({
  job_id: z.string(),
  plan: callPlan,
  items: z.array(sessionItem),
});
export type AnalysisJob = z.output<typeof analysisJob>;
