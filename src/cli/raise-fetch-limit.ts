import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';

/**
 * How many requests `fetch` runs at a time is settled by the environment that a process starts with, so `serve` starts
 * itself anew, once, with the variable set. Imports types alone, since whatever is loaded before that is loaded twice.
 */

const VARIABLE = 'BUN_CONFIG_MAX_HTTP_REQUESTS';
const DEFAULT_LIMIT = 256;
const HIGHEST_LIMIT = 65_336;
/** With up to this many deliveries at a time the default has room to spare, and the start stays as short as it can be. */
const ENOUGH_BY_DEFAULT = 200;

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns only where nothing is to be raised, or cannot be. */
export async function raiseFetchLimit(platform: NodeJS.Platform = process.platform): Promise<void> {
  if (process.argv[2] !== 'serve' || !needsHigherLimit(process.env) || isUnderDevelopment()) return;
  // The engine has its own bound: the highest spares reading the settings here.
  const environment = { ...process.env, [VARIABLE]: String(HIGHEST_LIMIT) };
  if (platform === 'win32') process.exit(await runInChild(environment));
  try {
    // The same process goes on, so that signals, terminal, parent and exit code need nobody to pass them on.
    process.execve?.(process.execPath, [process.argv0, ...ownArguments()], environment);
  } catch {
    // A child would fail for the same reason; `fitFetchLimit` says what follows from it.
  }
}

/** The settings with no more deliveries at a time than `fetch` runs: the others would time out waiting for it. */
export function fitFetchLimit(config: Config, log: Logger, environment: Environment = process.env): Config {
  const limit = fetchLimit(environment);
  if (config.ROLE === 'api' || config.DELIVERY_CONCURRENCY <= limit) return config;
  const message = `DELIVERY_CONCURRENCY is lowered to ${limit}, as ${VARIABLE} is not set to more`;
  if (isUnderDevelopment()) log.info(message);
  else log.warn(message);
  return Object.freeze({ ...config, DELIVERY_CONCURRENCY: limit });
}

/** Before the settings are checked: a wrong one costs a start in vain and is named by the second. */
function needsHigherLimit(environment: Environment): boolean {
  if (environment[VARIABLE] || environment.ROLE === 'api') return false;
  const concurrency = environment.DELIVERY_CONCURRENCY;
  return !concurrency || !(Number(concurrency) <= ENOUGH_BY_DEFAULT);
}

/** As Bun reads it: what is no number in range leaves the default in place. */
function fetchLimit(environment: Environment): number {
  const given = environment[VARIABLE] ?? '';
  const limit = /^[0-9]{1,5}$/.test(given) ? Number(given) : 0;
  return limit >= 1 && limit <= HIGHEST_LIMIT ? limit : DEFAULT_LIMIT;
}

/** A watcher would hold on to the first values of an env file, and a debugger would have to attach twice. */
function isUnderDevelopment(): boolean {
  return process.execArgv.some((option) => /^--(watch|hot|inspect)/.test(option));
}

function ownArguments(): string[] {
  const given = process.argv.slice(2);
  if (Bun.isStandaloneExecutable) return given;
  // We are in that folder already, and a relative name would be looked for inside it; Bun goes by the last one given.
  const folder = process.execArgv.some((option) => option.startsWith('--cwd')) ? [`--cwd=${process.cwd()}`] : [];
  return [...process.execArgv, ...folder, Bun.main, ...given];
}

/** Windows cannot replace a process; there a child ends with its parent, and Ctrl-C reaches both. */
async function runInChild(environment: Environment): Promise<number> {
  for (const signal of ['SIGINT', 'SIGBREAK', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const child = Bun.spawn([process.execPath, ...ownArguments()], {
    env: environment,
    stdio: ['inherit', 'inherit', 'inherit'],
  });
  return await child.exited;
}
