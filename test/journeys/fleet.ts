/**
 * A product in parts with the links between them: a control plane and the signalling, and machines, each with
 * a worker, media ports and links of its own; for tests that lose a machine or a link.
 */
import { type Link, openLink } from '#test/fakes/link.ts';
import { Parts } from './parts.ts';
import type { Program } from './program.ts';

const RTP_PORTS = 40;

/** A machine with one worker. */
export interface Machine {
  /** Its links to the control plane and to signalling. */
  readonly link: Link;
  readonly sipLink: Link;
  readonly program: Program;
  readonly firstPort: number;
}

/** The parts. */
export class Fleet extends Parts {
  readonly machines: Machine[] = [];
  #controlPlane: Program | null = null;
  #controlPlaneSettings: Readonly<Record<string, string>> = {};

  /** Starts the control plane, to which alone `settings` go, and the signalling. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<Fleet> {
    const fleet = new Fleet(await Parts.freePorts(), {});
    fleet.#controlPlaneSettings = settings;
    try {
      await fleet.restartControlPlane();
      await fleet.start('signalling', 'signalling');
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  /** Starts a machine with a worker; resolves when it is connected to control plane and signalling. */
  async startMachine(firstPort: number): Promise<Machine> {
    const link = await openLink(Number(new URL(this.url).port));
    const sipLink = await openLink(this.appPort);
    const settings = {
      CONTROL_PLANE_URL: `http://127.0.0.1:${link.port}`,
      DRACHTIO_PORT: String(sipLink.port),
      RTP_PORT_MIN: String(firstPort),
      RTP_PORT_MAX: String(firstPort + RTP_PORTS - 1),
    };
    const program = await this.start('worker', `machine-${firstPort}`, { settings });
    const machine = { link, sipLink, program, firstPort };
    this.machines.push(machine);
    return machine;
  }

  /** Kills the control plane with everything it has started. */
  killControlPlane(): void {
    this.#controlPlane?.signalTree('SIGKILL');
  }

  /** Starts the killed control plane again; resolves when it is ready. */
  async restartControlPlane(): Promise<void> {
    await this.#controlPlane?.close();
    this.#controlPlane = await this.start('control-plane', 'control-plane', {
      settings: this.#controlPlaneSettings,
    });
  }

  /** The machine whose worker logged this first. */
  machineThatLogged(text: string): Machine | undefined {
    return this.machines.find(({ program }) => program.output.includes(text));
  }

  /** The machine whose worker has this media port. */
  machineOf(port: number): Machine {
    const found = this.machines.find(({ firstPort }) => port >= firstPort && port < firstPort + RTP_PORTS);
    if (!found) throw new Error(`no machine has the media port ${port}`);
    return found;
  }

  /** Sends a signal to every process of a machine. */
  signal({ program }: Machine, name: NodeJS.Signals): void {
    program.signalTree(name);
  }

  override async close(): Promise<void> {
    await super.close();
    for (const { link, sipLink } of this.machines) await Promise.all([link.close(), sipLink.close()]);
  }
}
