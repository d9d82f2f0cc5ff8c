import type { Header } from '../../follow/header.ts';
import { RpcFailure } from '../../rpc/failures.ts';
import type { BlockTransactions, BlockTransfers, Log, Receipt, Transfer } from './types.ts';

/** Readers for the values of a node's response. A reader rejects every other value as garbage; it never crashes or guesses. */

const QUANTITY = /^0x[0-9a-f]{1,16}$/i;
const WORD = /^0x[0-9a-f]{64}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const DATA = /^0x[0-9a-f]*$/i;
const ZERO_HASH = `0x${'0'.repeat(64)}`;
const MAX_TOPICS = 4;

type Fields = Readonly<Record<string, unknown>>;

export function readQuantity(value: unknown): number {
  const number = typeof value === 'string' && QUANTITY.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new RpcFailure('garbage');
  return number;
}

/** The hash of a block or a transaction. Rejects zeros, which nodes have sent for blocks that they did not have. */
export function readHash(value: unknown): string {
  const hash = readWord(value);
  if (hash === ZERO_HASH) throw new RpcFailure('garbage');
  return hash;
}

function readWord(value: unknown): string {
  return readText(value, WORD);
}

export function readData(value: unknown): string {
  const data = readText(value, DATA);
  if (data.length % 2 !== 0) throw new RpcFailure('garbage');
  return data;
}

function readText(value: unknown, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw new RpcFailure('garbage');
  return value.toLowerCase();
}

function readFields(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RpcFailure('garbage');
  return value as Fields;
}

function readList<Item>(value: unknown, read: (item: unknown) => Item): Item[] {
  if (!Array.isArray(value)) throw new RpcFailure('garbage');
  return value.map(read);
}

/** Null for a block that the node does not have. */
export function readHeader(value: unknown): Header | null {
  if (value === null) return null;
  const { number, hash, parentHash, timestamp } = readFields(value);
  return {
    number: readQuantity(number),
    hash: readHash(hash),
    parentHash: typeof parentHash === 'string' && WORD.test(parentHash) ? parentHash.toLowerCase() : null,
    timestampS: readQuantity(timestamp),
  };
}

/** Null for a block that the node does not have. */
export function readBlockTransactions(value: unknown): BlockTransactions | null {
  if (value === null) return null;
  const { number, hash, transactions } = readFields(value);
  return { number: readQuantity(number), hash: readHash(hash), transactions: readList(transactions, readHash) };
}

/** Null for a block that the node does not have. */
export function readBlockTransfers(value: unknown): BlockTransfers | null {
  const header = readHeader(value);
  if (header === null) return null;
  const transfers: Transfer[] = [];
  for (const transaction of readList(readFields(value).transactions, readFields)) {
    if (movesCoin(transaction)) transfers.push(readTransfer(transaction));
  }
  return { header, transfers };
}

/** Null if the transaction moves no coin to an address; undefined if the node does not have the transaction. */
export function readTransaction(value: unknown): Transfer | null | undefined {
  if (value === null) return undefined;
  const transaction = readFields(value);
  return movesCoin(transaction) ? readTransfer(transaction) : null;
}

/** A transaction without `to` creates a contract. */
function movesCoin({ to, value }: Fields): boolean {
  return to !== null && to !== undefined && value !== '0x0';
}

const AMOUNT = /^0x[0-9a-f]{1,64}$/i;

/** An amount of the coin, in its smallest unit. */
export function readAmount(value: unknown): bigint {
  return BigInt(readText(value, AMOUNT));
}

function readTransfer({ hash, from, to, value }: Fields): Transfer {
  return {
    transactionHash: readHash(hash),
    from: readText(from, ADDRESS),
    to: readText(to, ADDRESS),
    value: `0x${readText(value, AMOUNT).slice(2).padStart(64, '0')}`,
  };
}

/** Skips a log that `isTaken` rejects, without reading it. */
export function readLogs(value: unknown, isTaken: (raw: unknown) => boolean = () => true): Log[] {
  if (!Array.isArray(value)) throw new RpcFailure('garbage');
  const logs: Log[] = [];
  for (const raw of value) if (isTaken(raw)) logs.push(readLog(raw));
  return logs;
}

function readLog(value: unknown): Log {
  const fields = readFields(value);
  const topics = readList(fields.topics, readWord);
  if (fields.removed === true || topics.length > MAX_TOPICS) throw new RpcFailure('garbage');
  return {
    blockNumber: readQuantity(fields.blockNumber),
    blockHash: readHash(fields.blockHash),
    transactionHash: readHash(fields.transactionHash),
    logIndex: readQuantity(fields.logIndex),
    address: readText(fields.address, ADDRESS),
    topics,
    data: readData(fields.data),
    ...readTimestamp(fields.blockTimestamp),
  };
}

const TIMESTAMP = /^0x[0-9a-f]{1,13}$/i;

/**
 * The time of the block, which not every node sends with a log. `dates.ts` asks for the header if an invoice needs the
 * time.
 */
function readTimestamp(value: unknown): Pick<Log, 'blockS'> {
  return typeof value === 'string' && TIMESTAMP.test(value) ? { blockS: Number(value) } : {};
}

/** Null for a transaction without a block. Receipts from before 2017 have no status. */
export function readReceipt(value: unknown): Receipt | null {
  if (value === null) return null;
  const { transactionHash, blockNumber, blockHash, status, logs } = readFields(value);
  if (blockHash === null) return null;
  const isAbsent = status === undefined || status === null;
  return {
    transactionHash: readHash(transactionHash),
    blockNumber: readQuantity(blockNumber),
    blockHash: readHash(blockHash),
    isSuccess: isAbsent || readQuantity(status) === 1,
    statesSuccess: !isAbsent && readQuantity(status) === 1,
    logs: readLogs(logs),
  };
}
