/** Prometheus, as the documentation sets it up: the configuration of its page, with the scene's addresses. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import type { Answer } from './judge.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MONITORING = join(ROOT, 'deploy/monitoring');
const SCRAPE_INTERVAL = '3s';

interface Configuration {
  readonly scrape_configs: readonly {
    readonly job_name: string;
    readonly authorization?: object;
  }[];
}

/** `host:port` of the parts by the jobs of the documentation. */
export type Targets = Readonly<Record<'parley' | 'parley-calls', readonly string[]>>;

/** The documented configuration for these targets. Throws if it names another job. */
export function configurationFor(
  targets: Targets,
  token: string,
): Configuration & { readonly rule_files: readonly string[] } {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const block = /```yaml\n(global: .*?)```/s.exec(page)?.[1];
  const documented = parse(block ?? '') as Configuration;
  return {
    ...documented,
    ...{ global: { scrape_interval: SCRAPE_INTERVAL }, rule_files: [join(MONITORING, 'alerts.yml')] },
    scrape_configs: documented.scrape_configs.map((job) => {
      const named = targets[job.job_name as keyof Targets];
      if (named === undefined) throw new Error(`the documentation has a job ${job.job_name}`);
      return {
        ...job,
        ...(job.authorization && { authorization: { credentials_file: token } }),
        static_configs: [{ targets: named }],
      };
    }),
  };
}

/** A watch of the parts. */
export class Prometheus {
  readonly #child: ChildProcess;
  #printed = '';
  #problems = '';

  /** Scrapes from now on; `folder` is for its files. */
  constructor(targets: Targets, { folder, token }: { readonly folder: string; readonly token: string }) {
    const tokenFile = join(folder, 'parley-token');
    const file = join(folder, 'prometheus.yml');
    writeFileSync(tokenFile, token);
    // JSON is valid YAML.
    writeFileSync(file, JSON.stringify(configurationFor(targets, tokenFile)));
    const dashboards = globSync('dashboards/*.json', { cwd: MONITORING }).sort();
    this.#child = spawn(
      'parley-rule-check',
      ['answers', file, ...dashboards.map((name) => join(MONITORING, name))],
      { stdio: ['pipe', 'pipe', 'pipe'] },
    );
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#printed += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#problems += text;
    });
  }

  /** Errors of scrapes and queries so far. */
  get problems(): readonly string[] {
    return this.#problems.split('\n').filter((line) => line !== '');
  }

  /** Ends the watch; what every panel and alert shows. */
  async answers(): Promise<readonly Answer[]> {
    const closed = once(this.#child, 'close');
    this.#child.stdin?.end();
    const [status] = await closed;
    if (status !== 0) throw new Error(`${this.#printed}${this.#problems}`);
    return this.#printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Answer);
  }
}
