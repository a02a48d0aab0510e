/** Entry point of the process that measures the simulation: in one that has done other work it costs more. */
import { measureSimulationCost } from './simulation-cost.ts';

/** Message to the process. */
export interface SimulationOrder {
  readonly calls: number;
}

process.once('message', async ({ calls }: SimulationOrder) => {
  process.send?.(await measureSimulationCost(calls));
});
process.on('disconnect', () => process.exit(0));
