import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * What some tests need beyond `npm ci`. A test that lacks it is skipped, and its name says why: `[needs geth: GETH]`, or
 * `[PostgreSQL only]` for a test of one engine. `summarizeSkips` counts skipped tests by these parts of their names.
 */

export type Requirement = {
  readonly label: string;
  /** The setting that names it, or the program to install; null if the label says as much. */
  readonly source: string | null;
  readonly isMet: boolean;
};

export const CITUS = fromSetting('Citus', 'TEST_CITUS_URL');
export const GETH = fromSetting('geth', 'GETH');
export const PGBOUNCER = fromSetting('PgBouncer', 'PGBOUNCER');
export const BASH = fromProgram('bash');
export const ZSH = fromProgram('zsh');
export const FISH = fromProgram('fish');
export const SYSTEMD = fromProgram('systemd', 'systemd-analyze');
export const SHA256SUM = fromProgram('coreutils', 'sha256sum');
export const PYTHON = fromProgram('Python', 'python3');
export const GO = fromProgram('Go', 'go');
export const LINUX: Requirement = { label: 'Linux', source: null, isMet: process.platform === 'linux' };
/** The programs of Solana are executed by a library with a build for each system. */
export const LITESVM: Requirement = { label: 'LiteSVM', source: null, isMet: process.platform !== 'win32' };
export const MOUNTS: Requirement = {
  label: 'a user who may mount',
  source: null,
  get isMet() {
    return mayMount();
  },
};

const GENERATOR = process.env.OPENAPI_PYTHON_CLIENT || Bun.which('openapi-python-client');

/** The programs of openapi-python-client; the Python of its environment also has what the generated clients import. */
export const PYTHON_CLIENT_PROGRAMS = {
  generator: GENERATOR ?? '',
  python: GENERATOR === null ? '' : join(dirname(GENERATOR), 'python'),
};

export const PYTHON_CLIENT: Requirement = {
  label: 'openapi-python-client',
  source: 'OPENAPI_PYTHON_CLIENT',
  isMet: existsSync(PYTHON_CLIENT_PROGRAMS.python),
};

export const REQUIREMENTS: readonly Requirement[] = [
  ...[CITUS, GETH, PGBOUNCER, PYTHON_CLIENT],
  ...[BASH, ZSH, FISH, SYSTEMD, SHA256SUM, PYTHON, GO],
  ...[LINUX, LITESVM, MOUNTS],
];

/** At the end of the name of a test that runs on one engine alone. */
export const POSTGRES_ONLY = '[PostgreSQL only]';
export const SQLITE_ONLY = '[SQLite only]';
export const WITHOUT_CITUS_ONLY = '[PostgreSQL without Citus only]';

/** At the end of the name of a test that needs it. */
export function needs({ label, source }: Requirement): string {
  return source === null ? `[needs ${label}]` : `[needs ${label}: ${source}]`;
}

/** The value of the setting of a requirement, or null. */
export function settingOf({ source }: Requirement): string | null {
  return (source === null ? null : process.env[source]) || null;
}

function fromSetting(label: string, setting: string): Requirement {
  return { label, source: setting, isMet: Boolean(process.env[setting]) };
}

function fromProgram(label: string, program?: string): Requirement {
  return { label, source: program ?? null, isMet: Bun.which(program ?? label) !== null };
}

/** Tries it: in most containers, not even root may. Nothing is left mounted. */
function mayMount(): boolean {
  const tries = ['unshare', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'];
  return process.getuid?.() === 0 && Bun.which('unshare') !== null && Bun.spawnSync(tries).exitCode === 0;
}

const NEEDS = /\[needs ([^\]:]+)(?:: ([^\]]+))?\]/;
const ONLY = /\[([^\]]+) only\]/;

/** One line that counts the skipped tests of these names by their reasons; empty without names. */
export function summarizeSkips(names: readonly string[]): string {
  if (names.length === 0) return '';
  const reasons = new Map<string, { one: string; many: string; count: number }>();
  for (const name of names) {
    const reason = reasonIn(name);
    const counted = reasons.get(reason.many) ?? { ...reason, count: 0 };
    counted.count++;
    reasons.set(reason.many, counted);
  }
  const parts = [...reasons.values()]
    .sort((a, b) => b.count - a.count || a.many.localeCompare(b.many))
    .map(({ one, many, count }) => `${count} ${count === 1 ? one : many}`);
  return `Skipped ${names.length} ${names.length === 1 ? 'test' : 'tests'}: ${parts.join(', ')}`;
}

function reasonIn(name: string): { one: string; many: string } {
  const [, label, source] = NEEDS.exec(name) ?? [];
  if (label !== undefined) {
    const what = source === undefined ? label : `${label} (${source})`;
    return { one: `needs ${what}`, many: `need ${what}` };
  }
  const [, engine] = ONLY.exec(name) ?? [];
  if (engine !== undefined) return { one: `is for ${engine} only`, many: `are for ${engine} only` };
  return { one: 'gives no reason', many: 'give no reason' };
}
