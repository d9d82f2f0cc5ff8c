import type { WhereValue } from '../../../../domain/chain/source-definition.ts';
import { type LogValues, rangeOf } from '../log-values.ts';
import type { LogAddresses } from './addresses.ts';
import type { EventAbi, EventParameter } from './event-abi.ts';

/** The error of one input of a definition. `name` is the name of the input in the request. */
export type DefinitionError = { readonly name: string; readonly message: string };

/** The values that a log may have. Values of topics are compared as the node sends them. */
export type Conditions = {
  /** For the topics 1 to 3. Null if the source takes any value. */
  readonly topics: readonly (ReadonlySet<string> | null)[];
  readonly values: readonly { readonly index: number; readonly name: string; readonly allowed: ReadonlySet<unknown> }[];
};

export type CompiledWhere = {
  readonly conditions: Conditions;
  /** The conditions with each value in its canonical form. */
  readonly where: Readonly<Record<string, readonly WhereValue[]>>;
};

/** Compiles the conditions of a source; errors are added to the list. */
export function compileWhere(
  where: Readonly<Record<string, readonly WhereValue[]>>,
  { parameters }: EventAbi,
  addresses: LogAddresses,
  errors: DefinitionError[],
): CompiledWhere {
  const indexed = parameters.filter(({ isIndexed }) => isIndexed);
  const topics: (ReadonlySet<string> | null)[] = [null, null, null];
  const values: Conditions['values'][number][] = [];
  const normal: Record<string, WhereValue[]> = {};
  for (const [name, wanted] of Object.entries(where)) {
    const index = parameters.findIndex((parameter) => parameter.name === name);
    const parameter = parameters[index];
    if (parameter === undefined) {
      errors.push({ name: `where.${name}`, message: unknownParameter(parameters) });
      continue;
    }
    const parsed = wanted.map((value, at) => {
      const result = parseWanted(parameter, value, addresses);
      if (typeof result === 'string') errors.push({ name: `where.${name}.${at}`, message: result });
      return typeof result === 'string' ? null : result;
    });
    const valid = parsed.filter((each) => each !== null);
    normal[name] = [...new Set(valid.map(({ written }) => written))];
    if (parameter.isIndexed) topics[indexed.indexOf(parameter)] = new Set(valid.map(({ word }) => `0x${word}`));
    else values.push({ index, name, allowed: new Set(valid.map(({ value }) => value)) });
  }
  return { conditions: { topics, values }, where: normal };
}

export function unknownParameter(parameters: readonly EventParameter[]): string {
  const names = parameters.map(({ name }) => name).filter((name) => name !== '');
  const known = names.length === 0 ? 'none of its parameters has a name' : `its parameters are ${names.join(', ')}`;
  return `is not a parameter of the event; ${known}`;
}

export function matchesTopics({ topics }: Conditions, logTopics: readonly string[]): boolean {
  for (let place = 0; place < topics.length; place++) {
    const allowed = topics[place];
    if (allowed !== null && allowed !== undefined && !allowed.has(logTopics[place + 1] ?? '')) return false;
  }
  return true;
}

export function matchesValues({ values }: Conditions, logValues: LogValues): boolean {
  return values.every(({ index, allowed }) => allowed.has(logValues[index]));
}

/** A value to compare with, in three forms: as the definition has it, as a log's value, and as the word of a topic. */
type Wanted = { readonly written: WhereValue; readonly value: unknown; readonly word: string };

const HASH_RULE =
  'must be 0x and the 64 hex digits of a hash: a log has only the keccak-256 hash of an indexed text, bytes, array or tuple';

function parseWanted(parameter: EventParameter, value: WhereValue, addresses: LogAddresses): Wanted | string {
  if (parameter.isHashed) {
    return typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value) ? hexWord(value.toLowerCase()) : HASH_RULE;
  }
  switch (parameter.kind) {
    case 'address':
      return parseAddress(value, addresses);
    case 'integer':
      return parseInteger(parameter.type, value);
    case 'boolean':
      if (typeof value !== 'boolean') return 'must be true or false';
      return { written: value, value, word: (value ? '1' : '0').padStart(64, '0') };
    case 'text':
      if (typeof value !== 'string') return 'must be a text';
      return { written: value, value, word: '' };
    case 'bytes':
      return parseBytes(parameter.type, value);
    case 'composite':
      return 'cannot be compared: it is an array or a tuple';
  }
}

function hexWord(written: string): Wanted {
  return { written, value: written, word: written.slice(2) };
}

function parseAddress(value: WhereValue, { errorIn, toLog, write }: LogAddresses): Wanted | string {
  const error = errorIn(value);
  if (error !== null) return error;
  const stored = toLog(String(value));
  return { written: write(stored), value: stored, word: stored.slice(2).padStart(64, '0') };
}

function parseInteger(type: string, value: WhereValue): Wanted | string {
  const { min, max } = rangeOf(type);
  const isWhole =
    (typeof value === 'string' && /^-?[0-9]{1,78}$/.test(value)) ||
    (typeof value === 'number' && Number.isSafeInteger(value));
  const integer = isWhole ? BigInt(value as string | number) : null;
  if (integer === null || integer < min || integer > max) {
    return `must be a whole number that fits ${type}, as decimal digits in a text: a number in JSON is exact only up to 2^53 - 1`;
  }
  const word = BigInt.asUintN(256, integer).toString(16).padStart(64, '0');
  return { written: integer.toString(), value: integer, word };
}

function parseBytes(type: string, value: WhereValue): Wanted | string {
  const size = type === 'bytes' ? null : Number(type.slice('bytes'.length));
  const digits = typeof value === 'string' ? (/^0x((?:[0-9a-f]{2})*)$/i.exec(value)?.[1] ?? null) : null;
  if (digits === null || (size !== null && digits.length !== size * 2)) {
    return size === null ? 'must be 0x and hex digits, two for each byte' : `must be 0x and ${size * 2} hex digits`;
  }
  const written = `0x${digits.toLowerCase()}`;
  return { written, value: written, word: written.slice(2).padEnd(64, '0') };
}
