import type { Subprocess } from 'bun';
import { TEST_SECRET_KEY } from './command-line.ts';
import { firstCredentials, type Served, servePaybell, startPaybell, tempFolder } from './paybell.ts';
import { createPostgresDatabase, listenSetting } from './postgres.ts';
import { Client, type Credentials } from './service.ts';
import type { Engine } from './stores.ts';

export type Instance = { readonly served: Served; readonly client: Client };

/** Processes of `paybell serve` on one new store, for tests that kill and restart them. */
export class Instances {
  readonly #folder = tempFolder();
  readonly #served: Served[] = [];
  #credentials: Credentials | null = null;

  private constructor(private settings: Record<string, string>) {}

  /** Uses a new store of that engine, or the one in the settings. */
  static async on(engine: Engine, settings: Record<string, string> = {}): Promise<Instances> {
    const common = { ALLOW_INSECURE_TARGETS: 'true', RATE_LIMIT: 'off', EVENT_RATE_LIMIT: 'off', ...settings };
    if (engine === 'sqlite') return new Instances(common);
    const url = settings.DATABASE_URL ?? (await createPostgresDatabase());
    return new Instances({ ...common, ...listenSetting(url), DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY });
  }

  get folder(): string {
    return this.#folder.path;
  }

  /** Without a DATABASE_URL in the settings, Paybell creates the SQLite file in the folder. */
  get databaseUrl(): string {
    return this.settings.DATABASE_URL ?? `sqlite:${this.folder}/data/paybell.db`;
  }

  /** Instances started from now on use that store. */
  moveTo(databaseUrl: string): void {
    this.settings = { ...this.settings, DATABASE_URL: databaseUrl };
  }

  async start(settings: Record<string, string> = {}): Promise<Instance> {
    const served = await this.#serve({ ...this.settings, ...settings });
    this.#served.push(served);
    this.#credentials ??= firstCredentials(served.stdout());
    return { served, client: new Client(served.url, this.credentials) };
  }

  /** Again where the store did not respond in time: some trials have the deadline of the product, on whatever machine. */
  async #serve(settings: Record<string, string>, triesLeft = 5): Promise<Served> {
    return await servePaybell(this.folder, settings).catch((error: unknown) => {
      if (triesLeft > 1 && String(error).includes('the store is unavailable'))
        return this.#serve(settings, triesLeft - 1);
      throw error;
    });
  }

  /** Starts a command of the operator on the same store. */
  startCommand(args: readonly string[]): Subprocess {
    return startPaybell(args, this.folder, this.settings);
  }

  /** Starts several at the same time. Only one of them prints the credentials. */
  async startTogether(count: number): Promise<Instance[]> {
    const all = await Promise.all(Array.from({ length: count }, () => servePaybell(this.folder, this.settings)));
    this.#served.push(...all);
    for (const served of all) this.#credentials ??= firstCredentials(served.stdout());
    return all.map((served) => ({ served, client: new Client(served.url, this.credentials) }));
  }

  get credentials(): Credentials {
    if (this.#credentials === null) throw new Error('No instance printed a first entity and key');
    return this.#credentials;
  }

  /** Kills every instance that runs. The store remains. */
  async killAll(): Promise<void> {
    for (const { child } of this.#served) child.kill('SIGKILL');
    await Promise.all(this.#served.map(({ child }) => child.exited));
  }

  async stop(): Promise<void> {
    await this.killAll();
    this.#folder.remove();
  }
}
