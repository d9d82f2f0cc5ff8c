import { hashApiKey, isPermission, PERMISSIONS, type Permission } from './api-keys.ts';

/**
 * Scopes of an operator's key: list or change entities and their keys, and every permission of an entity's key, for all
 * entities.
 */
export const OPERATOR_SCOPES = ['entities:read', 'entities:write', ...PERMISSIONS] as const;
export type OperatorScope = (typeof OPERATOR_SCOPES)[number];

export function isOperatorScope(name: string): name is OperatorScope {
  return name === 'entities:read' || name === 'entities:write' || isPermission(name);
}

export type OperatorKey = {
  /** Empty for ADMIN_KEY. */
  readonly name: string;
  /** SHA-256 in hex. */
  readonly hash: string;
  readonly scopes: ReadonlySet<OperatorScope>;
  /** Scopes that are permissions, for every entity. */
  readonly permissions: ReadonlySet<Permission>;
  readonly expiresAtMs: number | null;
};

const MAX_OPERATOR_KEYS = 100;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const HASH = /^[0-9a-f]{64}$/;

const ALL_SCOPES: ReadonlySet<OperatorScope> = new Set(OPERATOR_SCOPES);

/** ADMIN_KEY, which may do everything and does not expire. */
export function unnamedOperatorKey(key: string): OperatorKey {
  return operatorKey('', hashApiKey(key), ALL_SCOPES, null);
}

function operatorKey(
  name: string,
  hash: string,
  scopes: ReadonlySet<OperatorScope>,
  expiresAtMs: number | null,
): OperatorKey {
  return { name, hash, scopes, permissions: new Set(PERMISSIONS.filter((name) => scopes.has(name))), expiresAtMs };
}

export const isOperatorName = (name: string) => NAME.test(name);

/**
 * Reads `name:sha256`, `name:sha256:scope+scope` and `name:sha256:scope+scope:2027-01-31`, where `all` stands for every
 * scope. Returns a message if the text has a mistake. The message never repeats a part that may be a key.
 */
export function parseOperatorKeys(text: string): OperatorKey[] | string {
  const keys: OperatorKey[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    const key = parseEntry(entry.trim());
    if (typeof key === 'string')
      return `must have ${key} in entry ${index + 1}; "paybell keys operator" prints an entry`;
    if (keys.some(({ name }) => name === key.name)) return `must have each name once; ${key.name} appears twice`;
    if (keys.some(({ hash }) => hash === key.hash))
      return `must have each key once; the key of ${key.name} appears twice`;
    keys.push(key);
  }
  return keys.length <= MAX_OPERATOR_KEYS ? keys : `must have at most ${MAX_OPERATOR_KEYS} entries`;
}

/** Returns a text that names the missing part. */
function parseEntry(entry: string): OperatorKey | string {
  // A scope contains a colon, so that only the first two and a date at the end are cut off.
  const [, name = '', hash = '', , rest] = /^([^:]*):([^:]*)(:(.*))?$/.exec(entry) ?? [];
  if (!NAME.test(name)) return 'a name of 1 to 64 letters, digits, ".", "_" or "-"';
  if (!HASH.test(hash)) return 'the SHA-256 of the key in 64 hex digits after the name';
  const [, scopesText = 'all', date] = /^(.*?)(?::(\d{4}-\d{2}-\d{2}))?$/.exec(rest ?? 'all') ?? [];
  const scopes = scopesText === 'all' ? ALL_SCOPES : parseScopes(scopesText);
  if (scopes === null) return `"all" or scopes joined by "+", of ${OPERATOR_SCOPES.join(', ')},`;
  const expiresAtMs = date === undefined ? null : Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(expiresAtMs)) return 'a date such as 2027-01-31 at the end';
  return operatorKey(name, hash, scopes, expiresAtMs);
}

function parseScopes(text: string): ReadonlySet<OperatorScope> | null {
  const names = text.split('+');
  return names.every(isOperatorScope) ? new Set(names) : null;
}
