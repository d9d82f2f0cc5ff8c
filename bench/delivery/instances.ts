import { TEST_SECRET_KEY } from '../../test/support/command-line.ts';
import { type Served, servePaybell, tempFolder } from '../../test/support/paybell.ts';
import { createPostgresDatabase } from '../../test/support/postgres.ts';
import { Client, type Credentials } from '../../test/support/service.ts';
import type { Engine } from '../../test/support/stores.ts';

/** Paybell as it is run, on a new store, as often as asked: started, killed and started again. */
export class Instances {
  readonly #folder = tempFolder();
  readonly #served: Served[] = [];
  #credentials: Credentials | null = null;

  private constructor(private readonly settings: Record<string, string>) {}

  static async on(engine: Engine, settings: Record<string, string> = {}): Promise<Instances> {
    const common = { ALLOW_INSECURE_TARGETS: 'true', RATE_LIMIT: 'off', ...settings };
    if (engine === 'sqlite') return new Instances(common);
    const url = await createPostgresDatabase();
    return new Instances({ ...common, DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY });
  }

  async start(settings: Record<string, string> = {}): Promise<{ served: Served; client: Client }> {
    const served = await servePaybell(this.#folder.path, { ...this.settings, ...settings });
    this.#served.push(served);
    this.#credentials ??= credentialsIn(served.stdout());
    return { served, client: new Client(served.url, this.#credentials) };
  }

  async stop(): Promise<void> {
    for (const { child } of this.#served) child.kill('SIGKILL');
    await Promise.all(this.#served.map(({ child }) => child.exited));
    this.#folder.remove();
  }
}

function credentialsIn(stdout: string): Credentials {
  const entityId = /entity-id {2}(ent_\w+)/.exec(stdout)?.[1] ?? '';
  const apiKey = /api-key {4}(pbk_\w+)/.exec(stdout)?.[1] ?? '';
  return { entityId, apiKey };
}
