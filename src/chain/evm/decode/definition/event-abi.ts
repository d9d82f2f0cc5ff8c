import type { AbiLibrary, AbiParameter } from '../abi-library.ts';

/** How a parameter is read, compared and written. */
export type ParameterKind = 'address' | 'integer' | 'boolean' | 'text' | 'bytes' | 'composite';

export type EventParameter = AbiParameter & {
  readonly kind: ParameterKind;
  readonly isIndexed: boolean;
  /** Whether a log holds only the hash: true for an indexed text, bytes, array or tuple. */
  readonly isHashed: boolean;
  /** Whether its value takes exactly one word of the data. */
  readonly isWord: boolean;
};

export type EventAbi = {
  readonly name: string;
  /** The declaration in canonical form. */
  readonly text: string;
  /** The first topic of its logs. */
  readonly topic: string;
  readonly parameters: readonly EventParameter[];
};

const MAX_PARAMETERS = 32;
const MAX_INDEXED = 3;
const MAX_DEPTH = 3;
const MAX_DIMENSIONS = 2;
const MAX_ARRAY_LENGTH = 1_000;

const EVENT = /^event ([A-Za-z_$][\w$]*) ?\((.*)\) ?(anonymous)? ?;?$/;
const NAME = /^[A-Za-z_$][\w$]*$/;
const ELEMENTARY = /^(?:address|bool|string|bytes(?:[1-9]|[12]\d|3[0-2])?|u?int(?:\d{1,3})?)$/;
const EXAMPLE = 'event PaymentMade(bytes32 indexed agreementId, address payer, uint256 amount)';

/** Thrown and caught in this file: says what is wrong with an ABI text. */
class AbiError extends Error {}

/** The event that the text declares, or what is wrong with it. */
export function parseEventAbi(text: string, { keccak256 }: Pick<AbiLibrary, 'keccak256'>): EventAbi | string {
  const match = EVENT.exec(text.trim().replace(/\s+/g, ' '));
  if (match === null) return `must declare one event, such as ${EXAMPLE}`;
  const [, name = '', list = '', anonymous] = match;
  if (anonymous !== undefined) {
    return 'must not be anonymous: nothing in the logs of an anonymous event says which event it is';
  }
  try {
    const parameters = parseParameters(list, 1).map(({ isIndexed, ...parameter }) => describe(parameter, isIndexed));
    checkNames(parameters);
    if (parameters.filter(({ isIndexed }) => isIndexed).length > MAX_INDEXED) {
      return `must have at most ${MAX_INDEXED} indexed parameters`;
    }
    const types = parameters.map(signatureOf);
    return {
      name,
      text: `event ${name}(${parameters.map((each, index) => declare(each, types[index] ?? '')).join(', ')})`,
      topic: keccak256(`${name}(${types.join(',')})`),
      parameters,
    };
  } catch (error) {
    if (error instanceof AbiError) return error.message;
    throw error;
  }
}

type Parsed = AbiParameter & { readonly isIndexed: boolean };

function parseParameters(list: string, depth: number): Parsed[] {
  if (depth > MAX_DEPTH) throw new AbiError(`must not nest tuples more than ${MAX_DEPTH - 1} deep`);
  const items = splitList(list);
  if (items.length > MAX_PARAMETERS) throw new AbiError(`must have at most ${MAX_PARAMETERS} parameters`);
  return items.map((item) => parseParameter(item, depth));
}

/** Splits at commas outside of parentheses. */
function splitList(list: string): string[] {
  const items: string[] = [];
  let open = 0;
  let item = '';
  for (const character of list) {
    if (character === '(') open++;
    else if (character === ')') open--;
    if (open < 0) throw new AbiError('must have a ( for each )');
    if (character === ',' && open === 0) {
      items.push(item.trim());
      item = '';
    } else item += character;
  }
  if (open > 0) throw new AbiError('must have a ) for each (');
  if (items.length > 0 || item.trim() !== '') items.push(item.trim());
  return items;
}

function parseParameter(text: string, depth: number): Parsed {
  const isTuple = /^(?:tuple ?)?\(/.test(text);
  const end = isTuple ? text.lastIndexOf(')') + 1 : 0;
  const [, dimensions = '', rest = ''] = /^([^ ]*)(.*)$/.exec(text.slice(end)) ?? [];
  const words = rest.trim() === '' ? [] : rest.trim().split(' ');
  if (!isTuple && words[0] === 'payable') words.shift();
  const isIndexed = depth === 1 && words[0] === 'indexed';
  const [name = '', ...tooMuch] = isIndexed ? words.slice(1) : words;
  if (tooMuch.length > 0 || (name !== '' && !NAME.test(name)) || name === '__proto__') {
    throw new AbiError(`must declare parameters as a type, then indexed or nothing, then a name: "${shorten(text)}"`);
  }
  if (isTuple) {
    const components = parseParameters(text.slice(text.indexOf('(') + 1, end - 1), depth + 1);
    if (components.length === 0) throw new AbiError('must not have an empty tuple');
    return { type: `tuple${parseDimensions(dimensions)}`, name, components, isIndexed };
  }
  const [, base = '', array = ''] = /^([^[]*)(.*)$/.exec(dimensions) ?? [];
  return { type: elementary(base) + parseDimensions(array), name, isIndexed };
}

function elementary(type: string): string {
  const isKnown = ELEMENTARY.test(type);
  const full = type === 'uint' || type === 'int' ? `${type}256` : type;
  const bits = Number(/^u?int(\d+)$/.exec(full)?.[1] ?? 8);
  if (!isKnown || bits < 8 || bits > 256 || bits % 8 !== 0) {
    throw new AbiError(
      `has the type "${shorten(type)}", which is not supported; supported are address, bool, string, bytes, bytes1 to ` +
        'bytes32, uint8 to uint256, int8 to int256, tuples and arrays of them; write a struct as a tuple, and a contract ' +
        'or an enum as address or uint8',
    );
  }
  return full;
}

function parseDimensions(text: string): string {
  const dimensions = text.match(/\[\d*\]/g) ?? [];
  if (dimensions.join('') !== text) throw new AbiError(`has an array that is not valid: "${shorten(text)}"`);
  if (dimensions.length > MAX_DIMENSIONS) {
    throw new AbiError(`must not have arrays of more than ${MAX_DIMENSIONS} dimensions`);
  }
  for (const dimension of dimensions) {
    const length = dimension === '[]' ? 1 : Number(dimension.slice(1, -1));
    if (length < 1 || length > MAX_ARRAY_LENGTH) {
      throw new AbiError(`must have arrays of a length from 1 to ${MAX_ARRAY_LENGTH}, or of any length with []`);
    }
  }
  return text;
}

const KINDS: readonly (readonly [RegExp, ParameterKind])[] = [
  [/[\])]$|^tuple/, 'composite'],
  [/^address$/, 'address'],
  [/^u?int/, 'integer'],
  [/^bool$/, 'boolean'],
  [/^string$/, 'text'],
  [/^bytes/, 'bytes'],
];

function describe(parameter: AbiParameter, isIndexed: boolean): EventParameter {
  const { type } = parameter;
  const kind = KINDS.find(([shape]) => shape.test(type))?.[1] ?? 'composite';
  const isWord = kind !== 'composite' && type !== 'string' && type !== 'bytes';
  return { ...parameter, kind, isIndexed, isHashed: isIndexed && !isWord, isWord };
}

/**
 * Rejects a name that two parameters have, because fields and conditions use the name. A parameter without a name is
 * valid, but nothing can use it.
 */
function checkNames(parameters: readonly EventParameter[]): void {
  const names = parameters.map(({ name }) => name).filter((name) => name !== '');
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    throw new AbiError(`must give each parameter another name: "${shorten(repeated)}" is there twice`);
}

function signatureOf({ type, components }: AbiParameter): string {
  return components === undefined ? type : `(${components.map(signatureOf).join(',')})${type.slice('tuple'.length)}`;
}

function declare({ isIndexed, ...parameter }: EventParameter, signature: string): string {
  const type = parameter.components === undefined ? signature : declareTuple(parameter);
  return [type, ...(isIndexed ? ['indexed'] : []), ...(parameter.name === '' ? [] : [parameter.name])].join(' ');
}

function declareTuple({ type, components = [] }: AbiParameter): string {
  const inner = components.map((each) => {
    const written = each.components === undefined ? each.type : declareTuple(each);
    return each.name === '' ? written : `${written} ${each.name}`;
  });
  return `(${inner.join(', ')})${type.slice('tuple'.length)}`;
}

function shorten(text: string): string {
  return text.length <= 64 ? text : `${text.slice(0, 64)}…`;
}
