/**
 * The network of the scene: hosts that are network namespaces, on one switch (a Linux bridge) in the
 * namespace of this process, where callers and tenants are.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The switch as an interface of this process: what reaches the callers passes it. */
export const SWITCH = 'switch0';
export const RANGE = '10.77.0.0/24';
/** Where callers, tenants and engines are. */
export const OUTSIDE = '10.77.0.1';
const FIRST_HOST = 11;
const REACHES_WITHIN_MS = 1_500;

/** Makes the switch. This process needs a network namespace of its own. */
export function openNetwork(): Network {
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', SWITCH, 'type', 'bridge', 'forward_delay', '0');
  ip('addr', 'add', `${OUTSIDE}/24`, 'dev', SWITCH);
  ip('link', 'set', SWITCH, 'up');
  return new Network();
}

/** The hosts on the switch. */
export class Network {
  readonly #hosts: Host[] = [];

  /** Plugs in a new host. */
  async addHost(): Promise<Host> {
    const index = this.#hosts.length;
    // Holds the namespace open.
    const keeper = spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: 'ignore' });
    const namespace = `/proc/${keeper.pid}/ns/net`;
    while (readlinkSync(namespace) === readlinkSync('/proc/self/ns/net')) await sleep(5);
    const port = `port${index}`;
    ip('link', 'add', port, 'type', 'veth', 'peer', 'name', 'card0', 'netns', String(keeper.pid));
    ip('link', 'set', port, 'master', SWITCH, 'up');
    const host = new Host({ keeper, namespace, port, address: `10.77.0.${FIRST_HOST + index}` });
    this.#hosts.push(host);
    return host;
  }

  /** Takes all hosts away. Their programs must have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.close()));
    ip('link', 'del', SWITCH);
  }
}

/** A computer with a network card. */
export class Host {
  readonly address: string;
  /** Begins a command that runs on this host. */
  readonly within: readonly string[];
  readonly #keeper: ChildProcess;
  readonly #port: string;

  constructor(parts: { keeper: ChildProcess; namespace: string; port: string; address: string }) {
    this.#keeper = parts.keeper;
    this.#port = parts.port;
    this.address = parts.address;
    this.within = ['nsenter', `--net=${parts.namespace}`];
    this.#ip('link', 'set', 'lo', 'up');
    this.#ip('addr', 'add', `${this.address}/24`, 'dev', 'card0');
    this.#ip('link', 'set', 'card0', 'up');
    this.#ip('route', 'add', 'default', 'via', OUTSIDE);
  }

  /** Cuts it off from everything; nobody is told. */
  unplug(): void {
    ip('link', 'set', this.#port, 'nomaster');
  }

  plugIn(): void {
    ip('link', 'set', this.#port, 'master', SWITCH);
  }

  /** From now on its packets to an address vanish. */
  cutFrom(address: string): void {
    this.#ip('route', 'add', 'blackhole', `${address}/32`);
  }

  mend(address: string): void {
    this.#ip('route', 'del', 'blackhole', `${address}/32`);
  }

  /** Whether a connection from here to a server comes about. */
  reaches(address: string, port: number): Promise<boolean> {
    const [command = '', ...rest] = [...this.within, 'bash', '-c', `: < /dev/tcp/${address}/${port}`];
    return new Promise((resolve) => {
      execFile(command, rest, { timeout: REACHES_WITHIN_MS }, (error) => resolve(error === null));
    });
  }

  async close(): Promise<void> {
    const ended = once(this.#keeper, 'exit');
    this.#keeper.kill('SIGKILL');
    await ended;
  }

  #ip(...words: string[]): void {
    const [command = '', ...rest] = [...this.within, 'ip', ...words];
    execFileSync(command, rest);
  }
}

function ip(...words: string[]): void {
  execFileSync('ip', words);
}
