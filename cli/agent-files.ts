/** `parley agents export`, `diff` and `import`: agents as files, one or all. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { agentFileText, diffOf, fillSecrets, overlay, parseAgentFile } from './agent-file.ts';
import { applyFile, findAgentId, readAgent, readTarget } from './agent-sync.ts';
import { type Api, EXIT } from './api.ts';
import { readGiven, writeNamed } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printWarnings, show } from './output.ts';

/** Adds the commands. */
export function addFileCommands(program: Command, agents: Command, common: CommandContext): void {
  agents
    .command('export <agent>')
    .description('one agent with its tools and knowledge as YAML, to standard output or a file')
    .option('-o, --output <file>', 'write to this file')
    .action(async (idOrName: string, options: { output?: string }) => {
      const api = common.api();
      const text = agentFileText(await readAgent(api, await findAgentId(api, idOrName)));
      if (options.output === undefined) process.stdout.write(text);
      else {
        writeNamed(options.output, text);
        show({ file: options.output }, common, () => console.log(`Wrote ${options.output}`));
      }
    });

  agents
    .command('diff <file>')
    .description(`show what importing a file would change; exit ${EXIT.failed} if it would change something`)
    .option('--agent <agent>', 'compare with this agent instead of the one of the same name')
    .action(async (file: string, options: { agent?: string }) => {
      const { diff } = await compare(common.api(), file, options.agent);
      show({ diff }, common, () => console.log(diff === '' ? 'Nothing would change' : diff));
      if (diff !== '') process.exitCode = EXIT.failed;
    });

  addImport(agents, common);
  addImport(program, common);

  program
    .command('export')
    .description('every agent, one YAML file each')
    .option('-d, --directory <directory>', 'where to write', 'agents')
    .action(async (options: { directory: string }) => {
      const api = common.api();
      mkdirSync(options.directory, { recursive: true });
      const written: string[] = [];
      for await (const agent of api.list('/v1/agent/agents', 'agents')) {
        const file = join(options.directory, fileNameOf(agent.name, written));
        writeNamed(file, agentFileText(await readAgent(api, agent.agent_id)));
        written.push(file);
      }
      show(written, common, () => console.log(written.join('\n')));
    });
}

interface ImportOptions {
  readonly agent?: string;
  readonly dryRun?: boolean;
  readonly publish?: boolean;
}

function addImport(parent: Command, common: CommandContext): void {
  parent
    .command('import <files...>')
    .description('update agents from files, showing the changes first; a second import changes nothing')
    .option('--agent <agent>', 'import onto this agent instead of the one of the same name (one file)')
    .option('--dry-run', 'only show what would change')
    .option('--publish', 'publish what changed')
    .action(async (files: string[], options: ImportOptions, command: Command) => {
      if (options.agent !== undefined && files.length > 1)
        command.error('--agent needs exactly one file', { exitCode: EXIT.refused });
      const results: ImportResult[] = [];
      for (const file of files) results.push(await importFile(common, file, options));
      if (common.json) console.log(JSON.stringify(results));
    });
}

interface ImportResult {
  readonly file: string;
  readonly agent_id: string | null;
  readonly changed: boolean;
  readonly published: boolean;
  readonly diff: string;
}

async function importFile(
  common: CommandContext,
  file: string,
  options: ImportOptions,
): Promise<ImportResult> {
  const api = common.api();
  const { stored, filled, diff, missing } = await compare(api, file, options.agent);
  const say = (line: string) => {
    if (!common.json) console.log(line);
  };
  if (diff !== '') say(diff);
  for (const what of missing)
    console.error(
      `${file}: ${what} has a secret where the file comes from, and none is stored here for that address: ` +
        `write it as \${NAME} and set NAME in the environment`,
    );
  if (options.dryRun) {
    say(`${file}: ${diff === '' ? 'nothing would change' : 'not imported (--dry-run)'}`);
    return { file, agent_id: stored.agentId, changed: false, published: false, diff };
  }
  const hashBefore = stored.agentId ? await hashOf(api, stored.agentId) : null;
  const agentId = await applyFile(api, stored, filled);
  // A changed secret does not appear in the diff, but changes the hash.
  const changed = diff !== '' || (await hashOf(api, agentId)) !== hashBefore;
  const agent = await api.get(`/v1/agent/agents/${agentId}`);
  const isBehind = options.publish === true && agent.has_unpublished_changes;
  if (isBehind) await api.post(`/v1/agent/agents/${agentId}/publish`, {});
  say(
    `${file}: ${changed ? `imported into agent ${agentId}` : 'nothing changed'}` +
      (isBehind ? ', published' : ''),
  );
  printWarnings(agent);
  return { file, agent_id: agentId, changed, published: isBehind, diff };
}

async function compare(api: Api, file: string, idOrName: string | undefined) {
  const note = (line: string) => console.error(`${file}: ${line}`);
  const given = fillSecrets(parseAgentFile(readGiven(file).toString('utf8'), file), process.env, note);
  const stored = await readTarget(api, given, idOrName);
  const { full, wanted, missing } = overlay(stored.file, given);
  return { stored, filled: { full, wanted }, missing, diff: diffOf(stored.file, wanted) };
}

async function hashOf(api: Api, agentId: string): Promise<string> {
  return (await api.get(`/v1/agent/agents/${agentId}/config`)).config_hash;
}

/** Derives a file name from an agent's name, numbered if it is already taken. */
function fileNameOf(name: string, taken: readonly string[]): string {
  const base =
    name
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '') || 'agent';
  const isTaken = (candidate: string) => taken.some((path) => path.endsWith(`/${candidate}`));
  let candidate = `${base}.yaml`;
  for (let number = 2; isTaken(candidate); number++) candidate = `${base}-${number}.yaml`;
  return candidate;
}
