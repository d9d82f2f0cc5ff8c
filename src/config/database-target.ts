/** The setting DATABASE_URL, and the store with the settings of its connections. */

export type DatabaseTarget =
  | { engine: 'sqlite'; file: string; deadlineMs?: number | undefined }
  | {
      engine: 'postgres';
      url: string;
      listenUrl?: string | undefined;
      pool?: number | undefined;
      deadlineMs?: number | undefined;
    };

export function databaseTarget(text: string): DatabaseTarget | null {
  if (/^postgres(ql)?:\/\//.test(text)) return URL.parse(text)?.hostname ? { engine: 'postgres', url: text } : null;
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  return file === undefined || file.includes(':memory:') || file.startsWith('//') ? null : { engine: 'sqlite', file };
}

export function postgresUrl(text: string): string | null {
  return databaseTarget(text)?.engine === 'postgres' ? text : null;
}

type StoreSettings = {
  readonly DATABASE_URL: DatabaseTarget;
  readonly LISTEN_DATABASE_URL?: string | undefined;
  readonly DATABASE_POOL: number;
  readonly DATABASE_TIMEOUT: number;
};

export function storeTarget(config: StoreSettings): DatabaseTarget {
  const {
    DATABASE_URL: target,
    LISTEN_DATABASE_URL: listenUrl,
    DATABASE_POOL: pool,
    DATABASE_TIMEOUT: deadlineMs,
  } = config;
  return target.engine === 'sqlite' ? { ...target, deadlineMs } : { ...target, listenUrl, pool, deadlineMs };
}

/** A command does one thing after the other, and Bun opens all connections of a pool at once. */
const COMMAND_POOL = 4;

/** The same for a command of the operator. */
export function commandTarget(config: StoreSettings): DatabaseTarget {
  return storeTarget({ ...config, DATABASE_POOL: COMMAND_POOL });
}

export function describeTarget(target: DatabaseTarget): string {
  if (target.engine === 'sqlite') return `sqlite:${target.file}`;
  const url = new URL(target.url);
  return `postgres://${url.host}${url.pathname}`;
}
