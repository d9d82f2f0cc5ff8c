import type { Log } from '../rpc/types.ts';
import type { AbiLibrary } from './abi-library.ts';
import type { EventAbi, EventParameter } from './definition/event-abi.ts';

/**
 * The values of a log, in the order of the event's parameters. Addresses and bytes are hex in lower case, integers are bigints, and
 * an indexed text, bytes, array or tuple is its hash. Other arrays and tuples are as the library decodes them.
 */
export type LogValues = readonly unknown[];

const WORD = 64;

/** Reads the logs of one event. The constructor finds the place of each value once. */
export class LogReader {
  readonly #inTopics: readonly Place[];
  readonly #inData: readonly Place[];
  /**
   * Whether the data has an array or a tuple, which the library must read. Otherwise `#cut` reads the data, several
   * times as fast.
   */
  readonly #hasComposites: boolean;

  constructor(
    private readonly abi: EventAbi,
    private readonly library: Pick<AbiLibrary, 'decodeParameters'>,
  ) {
    const places = abi.parameters.map((parameter, index) => ({ parameter, index }));
    this.#inTopics = places.filter(({ parameter }) => parameter.isIndexed);
    this.#inData = places.filter(({ parameter }) => !parameter.isIndexed);
    this.#hasComposites = this.#inData.some(({ parameter }) => parameter.kind === 'composite');
  }

  /** Returns null if the log is not of this event: another number of topics, data that is too short, or values out of range. */
  read({ topics, data }: Pick<Log, 'topics' | 'data'>): LogValues | null {
    if (topics.length !== this.#inTopics.length + 1) return null;
    const values: unknown[] = new Array(this.abi.parameters.length);
    let position = 1;
    for (const { parameter, index } of this.#inTopics) {
      const word = (topics[position++] ?? '').slice(2);
      const value = parameter.isHashed ? `0x${word}` : readWord(parameter, word);
      if (value === undefined) return null;
      values[index] = value;
    }
    const isRead = this.#hasComposites ? this.#decode(data, values) : this.#cut(data.slice(2), values);
    return isRead ? values : null;
  }

  #cut(digits: string, values: unknown[]): boolean {
    let start = 0;
    for (const { parameter, index } of this.#inData) {
      const word = digits.slice(start, start + WORD);
      const value = parameter.isWord ? readWord(parameter, word) : readBytes(parameter, digits, word);
      if (value === undefined) return false;
      values[index] = value;
      start += WORD;
    }
    return true;
  }

  #decode(data: string, values: unknown[]): boolean {
    let decoded: readonly unknown[];
    try {
      const parameters = this.#inData.map(({ parameter }) => parameter);
      decoded = this.library.decodeParameters(parameters, data);
    } catch {
      return false;
    }
    if (decoded.length !== this.#inData.length) return false;
    for (const [at, { parameter, index }] of this.#inData.entries()) values[index] = plain(parameter, decoded[at]);
    return true;
  }
}

type Place = { readonly parameter: EventParameter; readonly index: number };

/** The text or the bytes to which a word points; undefined if the data ends before them. */
function readBytes({ kind }: EventParameter, digits: string, pointer: string): string | undefined {
  const at = readSize(pointer) * 2;
  const start = at + WORD;
  const end = start + readSize(digits.slice(at, start)) * 2;
  if (!(end <= digits.length)) return undefined;
  const bytes = digits.slice(start, end);
  return kind === 'text' ? decoder.decode(Buffer.from(bytes, 'hex')) : `0x${bytes}`;
}

const decoder = new TextDecoder();

/** Returns NaN if the number is larger than 32 bits: no log has that much data. */
function readSize(word: string): number {
  return word.length === WORD && word.startsWith(NO_SIZE_BITS) ? Number.parseInt(word.slice(-8), 16) : Number.NaN;
}

/**
 * Gives a value of the library the form of `LogValues`. The library returns small integers as numbers, and addresses
 * with capitals.
 */
function plain({ kind }: EventParameter, value: unknown): unknown {
  if (kind === 'address') return String(value).toLowerCase();
  return kind === 'integer' ? BigInt(value as number | bigint) : value;
}

/** Returns undefined for a word that is not a value of this type. No compiler writes such a word. */
function readWord({ kind, type }: EventParameter, word: string): unknown {
  if (word.length !== WORD) return undefined;
  switch (kind) {
    case 'address':
      return word.startsWith(NO_ADDRESS_BITS) ? `0x${word.slice(24)}` : undefined;
    case 'boolean':
      return word === FALSE ? false : word === TRUE ? true : undefined;
    case 'integer':
      return readInteger(type, word);
    default: {
      const end = Number(type.slice('bytes'.length)) * 2;
      return /^0*$/.test(word.slice(end)) ? `0x${word.slice(0, end)}` : undefined;
    }
  }
}

const NO_SIZE_BITS = '0'.repeat(WORD - 8);
const NO_ADDRESS_BITS = '0'.repeat(24);
const FALSE = '0'.repeat(WORD);
const TRUE = `${'0'.repeat(WORD - 1)}1`;

function readInteger(type: string, word: string): bigint | undefined {
  const unsigned = BigInt(`0x${word}`);
  const { min, max, isSigned } = rangeOf(type);
  const value = isSigned ? BigInt.asIntN(256, unsigned) : unsigned;
  return value >= min && value <= max ? value : undefined;
}

const ranges = new Map<string, { readonly min: bigint; readonly max: bigint; readonly isSigned: boolean }>();

/** The range of an integer type. Keeps all of them, because there are only 64 types. */
export function rangeOf(type: string): { readonly min: bigint; readonly max: bigint; readonly isSigned: boolean } {
  const known = ranges.get(type);
  if (known !== undefined) return known;
  const isSigned = type.startsWith('int');
  const bits = BigInt(type.replace(/\D/g, ''));
  const range = isSigned
    ? { min: -(1n << (bits - 1n)), max: (1n << (bits - 1n)) - 1n, isSigned }
    : { min: 0n, max: (1n << bits) - 1n, isSigned };
  ranges.set(type, range);
  return range;
}
