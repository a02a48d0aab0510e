/**
 * `parley agents`: list, show, publish; create-agent.ts has `create`, and agent-files.ts the commands for
 * files.
 */
import type { Command } from 'commander';
import { addFileCommands } from './agent-files.ts';
import { findAgentId } from './agent-sync.ts';
import type { CommandContext } from './command-context.ts';
import { addCreateCommand } from './create-agent.ts';
import { printFacts, printTable, printWarnings, show } from './output.ts';

/** Adds the commands. */
export function addAgentCommands(program: Command, common: CommandContext): void {
  const agents = program.command('agents').description('agents, and their import and export as files');
  addFileCommands(program, agents, common);
  addCreateCommand(agents, common);

  agents
    .command('list')
    .description('list all agents that are not archived')
    .action(async () => {
      const rows = await common.api().all('/v1/agent/agents', 'agents');
      show(rows, common, () =>
        printTable(
          ['ID', 'STATE', 'CHANGED', 'NAME'],
          rows.map((agent) => [
            agent.agent_id,
            agent.publication_state,
            agent.has_unpublished_changes ? 'unpublished' : '',
            agent.name,
          ]),
        ),
      );
    });

  agents
    .command('show <agent>')
    .description('show an agent, by id or name, with its draft')
    .action(async (idOrName: string) => {
      const api = common.api();
      const id = await findAgentId(api, idOrName);
      const [agent, config] = await Promise.all([
        api.get(`/v1/agent/agents/${id}`),
        api.get(`/v1/agent/agents/${id}/config`),
      ]);
      show({ ...agent, config }, common, () =>
        printFacts({
          Id: id,
          Name: agent.name,
          State:
            agent.publication_state + (agent.has_unpublished_changes ? ', with unpublished changes' : ''),
          Public: agent.public_enabled ? 'yes' : 'no',
          Model: config.llm.custom ? config.llm.custom.base_url : config.llm.model,
          Voice: config.voice.voice_id,
          Recognition: config.asr.model,
          Tools: config.tools.tool_ids.length,
          Knowledge: config.knowledge_base.knowledge_source_ids.length,
          Hash: config.config_hash,
          Prompt: config.prompt.system_prompt,
        }),
      );
      printWarnings(agent);
    });

  agents
    .command('publish <agent>')
    .description('publish the draft: new calls use it')
    .option('--title <text>', 'title of the version')
    .action(async (idOrName: string, options: { title?: string }) => {
      const api = common.api();
      const path = `/v1/agent/agents/${await findAgentId(api, idOrName)}`;
      const version = await api.post(`${path}/publish`, { version_title: options.title ?? null });
      show(version, common, () => console.log(`Published version ${version.version_number}`));
      printWarnings(await api.get(path));
    });
}
