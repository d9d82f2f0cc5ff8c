import { RpcFailure } from '../../rpc/failures.ts';

/** Readers of JSON values. A value of another type makes the answer `garbage`. */

export type Json = Readonly<Record<string, unknown>>;

export function readObject(value: unknown): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RpcFailure('garbage');
  return value as Json;
}

export function readList<Item>(value: unknown, read: (item: unknown) => Item): Item[] {
  if (!Array.isArray(value)) throw new RpcFailure('garbage');
  return value.map(read);
}

/** The list, or an empty one if the node left it out. */
export function readOptionalList<Item>(value: unknown, read: (item: unknown) => Item): Item[] {
  return value === null || value === undefined ? [] : readList(value, read);
}

export function readText(value: unknown): string {
  if (typeof value !== 'string') throw new RpcFailure('garbage');
  return value;
}

export function readTextOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : readText(value);
}

/** A whole number from 0 on that a double holds, such as a slot. */
export function readNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw new RpcFailure('garbage');
  return value;
}

const DIGITS = /^[0-9]{1,20}$/;

/** An amount of 64 bits. Amounts above 2^53 arrive as a bigint or as text. */
export function readAmount(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'string' && DIGITS.test(value)) return BigInt(value);
  return BigInt(readNumber(value));
}

const LONG_NUMBER = /[0-9]{16}/;
const INTEGER = /^[0-9]+$/;

/** Parses JSON without rounding integers: lamports have 64 bits. Throws as `JSON.parse` does. */
export function parseExactly(text: string): unknown {
  // A function for each value makes parsing several times slower, and few answers have large numbers.
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return parseWithSource(text, (_, value, context) => {
    const isRounded = typeof value === 'number' && !Number.isSafeInteger(value);
    return isRounded && INTEGER.test(context?.source ?? '') ? BigInt(context?.source ?? '') : value;
  });
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** The types of `JSON.parse` do not have the source of a value yet. */
const parseWithSource: (text: string, reviver: Reviver) => unknown = JSON.parse;
