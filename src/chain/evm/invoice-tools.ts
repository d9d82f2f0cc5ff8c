import type { NewInvoice } from '../../contract/chain/new-invoice.ts';
import { type InputError, invalidRequest, Problem } from '../../contract/problems.ts';
import { hasReadableCoin, NATIVE_TOKEN } from '../../domain/chain/coin.ts';
import { rulesOf } from '../../domain/chain/families/families.ts';
import { baseOf, decimalsOf, MAX_BASE } from '../../domain/chain/invoices/amounts.ts';
import type { SourceDefinition } from '../../domain/chain/source-definition.ts';
import { listedSymbol, type StatedToken } from '../../domain/chain/tokens.ts';
import { parseDecimal } from '../../domain/payload-filter/decimal.ts';
import type { TokenReading } from '../../store/chain/invoices/book.ts';
import type { PreparedInvoice } from '../../store/chain/invoices/new-invoices.ts';
import { type AbiLibrary, loadAbiLibrary } from './decode/abi-library.ts';
import { contractCalls, type RpcCall } from './decode/contract-calls.ts';
import { addressesOf, type LogAddresses } from './decode/definition/addresses.ts';
import { compileSource, topicsOf } from './decode/definition/compile-source.ts';
import { parseDecimals } from './decode/parse-decimals.ts';
import { DECIMALS, TokenDecimals, type TokenStore } from './decode/token-decimals.ts';
import { readAmount, readQuantity } from './rpc/values.ts';

/** Asks a network about invoices: the decimals of tokens, the newest block and balances. Also checks addresses. */

export type InvoiceToolsOptions = {
  readonly call: RpcCall;
  readonly tokens: TokenStore;
  /** Runs work that asks nodes, and turns their failures into problems. */
  readonly responding: <Value>(networkId: number, work: () => Promise<Value>) => Promise<Value>;
};

export type PreparedInvoices = {
  /** For each invoice, the prepared invoice or the problem with it. */
  readonly results: readonly (PreparedInvoice | Problem)[];
  /** How to read the logs of each token, by the token's address in lower case. */
  readonly readings: ReadonlyMap<string, TokenReading>;
};

/** Limit on the new tokens of a batch. Each new token needs one or two calls. */
const MAX_UNKNOWN_TOKENS = 20;
/** The selector of `balanceOf(address)`. */
const BALANCE_OF = '0x70a08231';

type Known = number | 'unknown' | 'too_many';

export class InvoiceTools {
  readonly #decimals: TokenDecimals;

  constructor(private readonly options: InvoiceToolsOptions) {
    const { tokens, call } = options;
    // Does not save a token without decimals, because its address may get code later.
    const save = (networkId: number, stated: ReadonlyMap<string, StatedToken>) =>
      tokens.save(networkId, new Map([...stated].filter(([, { decimals }]) => decimals !== null)));
    this.#decimals = new TokenDecimals({ read: tokens.read, save }, contractCalls(call));
  }

  /**
   * Prepares invoices of one network that this server follows. Asks nodes only about new tokens, and only inside
   * `asking`.
   */
  async prepare(
    networkId: number,
    invoices: readonly NewInvoice[],
    asking: <Value>(work: () => Promise<Value>) => Promise<Value>,
  ): Promise<PreparedInvoices> {
    const library = await loadAbiLibrary();
    const addresses = addressesOf(networkId, library);
    const isWritten = (invoice: NewInvoice) => writingErrors(invoice, addresses).length === 0;
    const tokens = [...new Set(invoices.filter(isWritten).map(({ token }) => addresses.toLog(token)))];
    const stored = await this.options.tokens.read(networkId, tokens);
    const decimals = new Map<string, Known>();
    for (const [token, stated] of stored) if (stated.decimals !== null) decimals.set(token, stated.decimals);
    const unknown = tokens.filter((token) => !decimals.has(token));
    if (unknown.length > 0) {
      const learned = await asking(() => this.options.responding(networkId, () => this.#learn(networkId, unknown)));
      for (const [token, known] of learned) decimals.set(token, known);
    }
    const results = invoices.map((invoice) => prepareOne(invoice, addresses, decimals));
    const readings = new Map<string, TokenReading>();
    for (const result of results) {
      if (result instanceof Problem || readings.has(result.token)) continue;
      readings.set(result.token, readingOf(networkId, result.token, library));
    }
    return { results, readings };
  }

  /** The newest block of a node. */
  readHead(networkId: number): Promise<number> {
    return this.options.responding(networkId, async () =>
      readQuantity(await this.options.call(networkId, 'eth_blockNumber', [])),
    );
  }

  /** The balance of an address now, in the smallest unit; null if the node returns no balance. */
  async readBalance(networkId: number, token: string, address: string): Promise<bigint | null> {
    if (token === NATIVE_TOKEN) {
      const params = [address, 'latest'];
      return this.options.responding(networkId, async () =>
        readAmount(await this.options.call(networkId, 'eth_getBalance', params)),
      );
    }
    const data = `${BALANCE_OF}${address.slice(2).toLowerCase().padStart(64, '0')}`;
    const call = contractCalls(this.options.call);
    return this.options.responding(networkId, async () => {
      const outcome = await call(networkId, { to: token, data, block: 'latest' });
      return 'data' in outcome && /^0x[0-9a-f]{64}$/i.test(outcome.data) ? BigInt(outcome.data) : null;
    });
  }

  async #learn(networkId: number, tokens: readonly string[]): Promise<ReadonlyMap<string, Known>> {
    const asked = tokens.slice(0, MAX_UNKNOWN_TOKENS);
    const known = new Map<string, Known>(await this.#decimals.read(networkId, new Set(asked)));
    for (const token of tokens.slice(MAX_UNKNOWN_TOKENS)) known.set(token, 'too_many');
    const silent = asked.filter((token) => !known.has(token));
    const answers = await Promise.all(silent.map((token) => this.#ask(networkId, token)));
    for (const [at, token] of silent.entries()) known.set(token, answers[at] ?? 'unknown');
    return known;
  }

  /**
   * Asks a token that has not stated its decimals before. Throws if no node can answer, because the token may still
   * have decimals.
   */
  async #ask(networkId: number, token: string): Promise<Known> {
    const call = contractCalls(this.options.call);
    const outcome = await call(networkId, { to: token, data: DECIMALS, block: 'latest' });
    if ('data' in outcome) return parseDecimals(outcome.data) ?? 'unknown';
    if (outcome.failed === 'reverted') return 'unknown';
    const detail = `No node of network ${networkId} can say at the moment how many decimals ${token} has. Try again.`;
    throw new Problem('network_unavailable', detail, { headers: { 'retry-after': '5' } });
  }
}

function writingErrors({ networkId, token, address }: NewInvoice, { errorIn }: LogAddresses): InputError[] {
  const errors: InputError[] = [];
  for (const [name, value] of Object.entries({ token, address })) {
    const isCoin = name === 'token' && value === NATIVE_TOKEN;
    const message = isCoin ? coinError(networkId) : errorIn(value);
    if (message !== null) errors.push({ in: 'body', name, message });
  }
  return errors;
}

function coinError(networkId: number): string | null {
  if (hasReadableCoin(networkId)) return null;
  return `must be the address of a token: Paybell does not read the coin of network ${networkId}`;
}

function prepareOne(
  invoice: NewInvoice,
  addresses: LogAddresses,
  decimalsOfTokens: ReadonlyMap<string, Known>,
): PreparedInvoice | Problem {
  const { networkId, amount } = invoice;
  const errors = writingErrors(invoice, addresses);
  if (errors.length > 0) return invalidRequest(errors);
  const token = addresses.toLog(invoice.token);
  const address = addresses.toLog(invoice.address);
  const decimals = decimalsOfTokens.get(token) ?? 'unknown';
  if (decimals === 'too_many') {
    const message = `is one of more than ${MAX_UNKNOWN_TOKENS} tokens that are new on this network. Send it in another request`;
    return invalidRequest([{ in: 'body', name: 'token', message }]);
  }
  if (decimals === 'unknown') {
    const detail = `No token with decimals() is at ${invoice.token} on network ${networkId}. Check the address and the network.`;
    return new Problem('token_unknown', detail);
  }
  const base = baseOf(amount, decimals);
  if (base === null) {
    const given = parseDecimal(amount);
    const name = listedSymbol(networkId, token) ?? 'the token';
    const message = `has ${given === null ? 'other' : decimalsOf(given)} decimals, ${name} has ${decimals}`;
    return invalidRequest([{ in: 'body', name: 'amount', message }]);
  }
  if (base > MAX_BASE) {
    return invalidRequest([
      { in: 'body', name: 'amount', message: 'must be below 2^256 in the smallest unit of the token' },
    ]);
  }
  return {
    terms: invoice,
    token,
    address,
    shownToken: addresses.show(token),
    shownAddress: addresses.show(address),
    decimals,
    base,
  };
}

/** How to read the transfers of a token to the addresses of an address book. */
function readingOf(networkId: number, token: string, library: AbiLibrary): TokenReading {
  const definition: SourceDefinition = {
    ...{
      networkId,
      preset: token === NATIVE_TOKEN ? 'native' : (rulesOf(networkId).presets[0] ?? null),
      contract: token,
      abi: null,
      event: null,
      where: {},
      fields: {},
    },
    ...{ fromBlock: 'latest', deliverHistory: false, addressBook: 'to' },
  };
  const compiled = compileSource(definition, library);
  if (!compiled.isValid) throw new Error(`the transfers of ${token} cannot be read`);
  const { event, bookPlace } = compiled.source;
  if (bookPlace === null) throw new Error('the preset of transfers has no address book');
  return {
    definition: compiled.definition,
    topic: event.topic,
    topics: [null, ...topicsOf(compiled.source)],
    bookPlace,
  };
}
