/** Contracts whose events Paybell already knows. */
const EVM_PRESETS = ['erc20', 'trc20', 'native', 'request-network', 'loop', 'superfluid'] as const;

/** `spl` and `native` are the presets of Solana, whose payments are changes of balances. */
export const PRESETS = [...EVM_PRESETS, 'spl'] as const;

export type EvmPreset = (typeof EVM_PRESETS)[number];
export type Preset = (typeof PRESETS)[number];

export type WhereValue = string | number | boolean;

/** Source of a payload field: a parameter of the event, an amount of a token, or a constant. */
export type FieldSource =
  | string
  | { readonly from: string; readonly token: string }
  | { readonly is: string | number | boolean };

/**
 * The definition of a source as an entity gave it. Addresses are in lower case and integers of `where` are decimal
 * texts, so that equal definitions are equal texts.
 */
export type SourceDefinition = {
  readonly networkId: number;
  readonly preset: Preset | null;
  readonly contract: string;
  /** The event as Solidity declares it. Null if the preset knows it. */
  readonly abi: string | null;
  /** `Transfer` or an event kind. Null if the preset knows it. */
  readonly event: string | null;
  /** The values that a log may have, by the names of the event's parameters. */
  readonly where: Readonly<Record<string, readonly WhereValue[]>>;
  /** The sources of payload fields, by their names. The preset fills its own fields. */
  readonly fields: Readonly<Record<string, FieldSource>>;
  readonly fromBlock: number | 'latest';
  readonly deliverHistory: boolean;
  /** The smallest `amount` that leads to an event, as a plain decimal. Smaller payments are only stored. */
  readonly minAmount?: string | undefined;
  /** The parameter whose value must be in the address book of the source; absent for a source without a book. */
  readonly addressBook?: string | undefined;
};

export const MAX_ABI_LENGTH = 2_000;
export const MAX_WHERE_PARAMETERS = 20;
export const MAX_WHERE_VALUES = 1_000;
export const MAX_WHERE_LENGTH = 1_024;
export const MAX_FIELDS = 50;
export const MAX_CONSTANT_LENGTH = 256;

/** Kinds that no log can prove, because nothing has happened on the network. */
export const NEVER_IN_LOGS: readonly string[] = ['TransferCreated', 'LatePayment', 'EventRetracted'];

/** Fields of a payload that Paybell fills itself. */
export const RESERVED_FIELDS: ReadonlySet<string> = new Set([
  ...['eventId', 'event', 'networkId', 'network', 'dateCreated', 'test', 'status'],
  ...['transactionHash', 'blockNumber', 'blockHash', 'logIndex', 'contract'],
  ...['paymentId', 'symbol', 'invoice'],
  ...['finality', 'confirmations', 'revision', 'retracts', 'reason', 'omittedFields'],
]);

/** Equal for equal definitions, however the request was written. */
export function definitionHash(definition: SourceDefinition): string {
  const { networkId, preset, contract, abi, event, where, fields, fromBlock, deliverHistory } = definition;
  const { minAmount, addressBook } = definition;
  const conditions = sorted(where).map(([name, values]) => [name, values.map((value) => JSON.stringify(value)).sort()]);
  const mapped = sorted(fields).map(([name, source]) => [name, typeof source === 'string' ? source : sorted(source)]);
  const least = minAmount === undefined ? [] : [minAmount];
  const book = addressBook === undefined ? [] : [{ addressBook }];
  const parts = [
    networkId,
    preset,
    contract,
    abi,
    event,
    conditions,
    mapped,
    fromBlock,
    deliverHistory,
    ...least,
    ...book,
  ];
  return Bun.SHA256.hash(JSON.stringify(parts), 'hex');
}

function sorted<Value>(record: Readonly<Record<string, Value>>): [string, Value][] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
