/** Where clients reach this deployment: PUBLIC_URL, or HOST with the port the server listens on. */
import { publicUrl, type Settings } from '#config/env.ts';

/** The base of every link; with `PORT=0` it is known once the server listens. */
export class PublicAddress {
  readonly #settings: Settings;
  #port: number;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#port = settings.PORT;
  }

  /** Without a trailing slash. */
  get url(): string {
    return publicUrl(this.#settings, this.#port);
  }

  /** The server listens on this port. */
  listensOn(port: number): void {
    this.#port = port;
  }
}
