/** Counts the commands that a control plane has sent to its store. */
import { readSamples } from '#cli/prometheus-text.ts';

/** The commands so far, by kind, from the metrics of the control plane at this address. */
export async function storeCommands(url: string): Promise<ReadonlyMap<string, number>> {
  const answer = await fetch(`${url}/metrics`);
  const commands = new Map<string, number>();
  for (const { name, labels, value } of readSamples(await answer.text())) {
    const { command } = labels;
    if (name === 'parley_store_command_seconds_count' && command !== undefined)
      commands.set(command, (commands.get(command) ?? 0) + value);
  }
  return commands;
}
