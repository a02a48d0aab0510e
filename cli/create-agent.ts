/** `parley agents create`: an agent, empty or from a template. */
import { type Command, Option } from 'commander';
import { AGENT_TEMPLATES } from '#protocol/agent-templates.ts';
import { type Api, CommandError } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printWarnings, show } from './output.ts';

/** Adds the command. */
export function addCreateCommand(agents: Command, common: CommandContext): void {
  agents
    .command('create <name>')
    .description('create an agent, empty or from a template with its agent tests')
    .addOption(
      new Option('--template <template>', 'what to start from').choices(AGENT_TEMPLATES.map(({ id }) => id)),
    )
    .action(async (name: string, options: { template?: string }) => {
      const { agent, tests } = await createAgent(common.api(), name, options.template);
      show(agent, common, () =>
        console.log(
          `Created agent ${agent.agent_id}` +
            (tests > 0 ? ` with ${tests} tests: parley test ${agent.agent_id}` : ''),
        ),
      );
      printWarnings(agent);
    });
}

async function createAgent(api: Api, name: string, templateId: string | undefined) {
  const template = AGENT_TEMPLATES.find(({ id }) => id === templateId);
  const { description, config, tests } = template ?? { description: '', config: {}, tests: [] };
  const agent = await api.post('/v1/agent/agents', { name, description, config });
  for (const test of tests) {
    await api.post('/v1/agent/tests', { ...test, agent_ids: [agent.agent_id] }).catch((error: unknown) => {
      if (!(error instanceof CommandError)) throw error;
      throw new CommandError(
        `agent ${agent.agent_id} was created without all of its tests: ${error.message}`,
        error.exitCode,
      );
    });
  }
  return { agent, tests: tests.length };
}
