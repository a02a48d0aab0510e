/** Loses packets on their way to a UDP port of this machine. Needs Linux, iptables and its administrator. */
import { spawnSync } from 'node:child_process';

/** The chain with the rule. By its name the next run finds what a run left that was killed. */
const CHAIN = 'parley-comparison';

/**
 * Loses this share of the packets until `losePacketsNoMore` is called. Returns why that cannot be done here;
 * null if it is done.
 */
export function losePackets(port: number, share: number): string | null {
  losePacketsNoMore();
  const rule = [
    ['--in-interface', 'lo', '--protocol', 'udp', '--dport', String(port)],
    ['--match', 'statistic', '--mode', 'random', '--probability', String(share), '--jump', 'DROP'],
  ].flat();
  const problem =
    iptables('--new-chain', CHAIN) ??
    iptables('--append', CHAIN, ...rule) ??
    iptables('--insert', 'INPUT', '--jump', CHAIN);
  if (problem === null) return null;
  losePacketsNoMore();
  return `iptables cannot lose packets here: ${problem}`;
}

/** Removes the rule, whichever run has made it; does nothing if there is none. */
export function losePacketsNoMore(): void {
  iptables('--delete', 'INPUT', '--jump', CHAIN);
  iptables('--flush', CHAIN);
  iptables('--delete-chain', CHAIN);
}

/** Why the command failed; null if it did not. */
function iptables(...command: readonly string[]): string | null {
  const { error, status, stderr } = spawnSync('iptables', ['--wait', ...command], { encoding: 'utf8' });
  if (!error && status === 0) return null;
  return (error?.message ?? stderr).trim().split('\n')[0] ?? '';
}
